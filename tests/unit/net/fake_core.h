/*
 * fake_core.h - a core of a few lines behind core/session.h, so that net is tested alone.
 *
 * A frame's first byte is a command:
 *   'e' echo the rest            'r' a reply of the 4-byte big-endian size that follows
 *   'h' hello: the session is ready from now on, reply "ok"
 *   'w' submit a record; the reply "W" and 4 bytes of seq comes when it is decided
 *   'c' close with the 2-byte big-endian code, behind a reply "bye"
 *   's' a scan of the 4-byte big-endian number of slices; the reply "S" comes at its end
 *   'm' two replies at once
 *   else close 1007
 */
#ifndef SB_TEST_FAKE_CORE_H
#define SB_TEST_FAKE_CORE_H

#include "core/session.h"

/* A session that is not ready after it is closed 4401. */
void fake_core_set_hello_timeout(uint64_t ms);

#endif
