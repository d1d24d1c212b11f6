/*
 * directory.h - the directory that a store lives in: its lock, its marks, what is refused.
 *
 *   data.mdb          the map (0600)
 *   lock.mdb          LMDB's table of readers
 *   scrollback.lock   held by the one process that has the store open
 *   UNFINISHED        a bulk load began and was not finished: the content is not whole
 *   reserve           space that is given up when the disk is full, so that deleting works
 *   data.mdb.new      a repack that was not finished: of no use to anybody
 *
 * `why` has at least 512 bytes and gets a sentence for the operator.
 */
#ifndef SB_STORE_DIRECTORY_H
#define SB_STORE_DIRECTORY_H

#include <stdbool.h>

/* Creates the directory (0700) if it is missing. SB_ERR_IO. */
int sb_directory_make(const char *dir, char *why);
/* Takes the lock; the descriptor holds it until it is closed. SB_ERR_BUSY, SB_ERR_IO. */
int sb_directory_lock(const char *dir, int *out, char *why);
/* Looks at data.mdb without opening it as a store. `exists` tells whether it is there.
 * SB_ERR_FOREIGN: empty, no file, or others may read it. */
int sb_directory_look(const char *dir, bool *exists, char *why);

bool sb_directory_unfinished(const char *dir);
int sb_directory_mark_unfinished(const char *dir, char *why);
int sb_directory_unmark_unfinished(const char *dir, char *why);

/* Puts `from` in place of `to`, both in dir, and makes it durable. */
int sb_directory_replace(const char *dir, const char *from, const char *to, char *why);
/* Makes the reserve of SB_RESERVE_BYTES if it is not there. False: there is no space for it. */
#define SB_RESERVE_BYTES (4 << 20)
bool sb_directory_reserve(const char *dir);
/* Removes a file of the directory if it is there. */
void sb_directory_remove(const char *dir, const char *file);

#endif
