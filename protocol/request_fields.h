/*
 * request_fields.h - the form of each operation: its fields and the rules between them.
 */
#ifndef SB_PROTOCOL_REQUEST_FIELDS_H
#define SB_PROTOCOL_REQUEST_FIELDS_H

#include "protocol/fields.h"

struct sb_op_form
{
    struct sb_fields fields;
    size_t offset; /* of the struct in struct sb_request that the table fills */
    /* After all fields were read: NULL, or what is wrong between them. */
    const char *(*check)(const struct sb_request *r);
};

/* NULL for an operation that is not built, and past the end. */
const struct sb_op_form *sb_op_form(enum sb_op op);

/* The operation of that name, or SB_OP_UNKNOWN. */
enum sb_op sb_op_find(struct sb_bytes name);

#endif
