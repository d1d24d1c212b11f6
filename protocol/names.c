/*
 * names.c - the words of the wire for operations, codes and roles.
 */
#include "protocol/request_fields.h"

static const struct
{
    const char *name;
    size_t len;
    bool built;
} ops[] = {
#define X(id, name, built) {name, sizeof(name) - 1, built},
    SB_OPS(X)
#undef X
};

const char *
sb_op_name(enum sb_op op)
{
    return (unsigned)op < SB_OP_UNKNOWN ? ops[op].name : "unknown";
}

enum sb_op
sb_op_find(struct sb_bytes name)
{
    for (enum sb_op op = 0; op < SB_OP_UNKNOWN; op++)
    {
        if (sb_bytes_eq(name, sb_bytes(ops[op].name, ops[op].len)))
            return op;
    }
    return SB_OP_UNKNOWN;
}

bool
sb_op_built(enum sb_op op)
{
    return (unsigned)op < SB_OP_UNKNOWN && ops[op].built;
}

const char *
sb_code_name(enum sb_code code)
{
    static const char *const names[] = {
#define X(id, name) name,
        SB_CODES(X)
#undef X
    };
    return (unsigned)code < sizeof(names) / sizeof(names[0]) ? names[code] : "internal";
}

const char *
sb_role_name(enum sb_role role)
{
    switch (role)
    {
    case SB_ROLE_READER:
        return "reader";
    case SB_ROLE_WRITER:
        return "writer";
    case SB_ROLE_MODERATOR:
        return "moderator";
    case SB_ROLE_NONE:
        break;
    }
    return NULL;
}
