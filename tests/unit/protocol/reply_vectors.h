/*
 * reply_vectors.h - the structs behind protocol/vectors/replies.json.
 */
#ifndef SB_TESTS_REPLY_VECTORS_H
#define SB_TESTS_REPLY_VECTORS_H

#include "protocol/encode.h"

/* Writes the reply of that vector; false when there is none. */
bool reply_vector_write(struct sb_writer *w, const char *name);
size_t reply_vector_count(void);
const char *reply_vector_name(size_t i);

#endif
