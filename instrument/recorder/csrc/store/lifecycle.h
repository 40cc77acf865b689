/* The lifecycles of threads and of the file: start and end of a thread, creation of a file, and the release of the
 * parent's file in a forked child.
 *
 * Invariant: every entry in the list of threads is alive, and a file whose creation failed is removed completely. */
#ifndef CLEW_STORE_LIFECYCLE_H
#define CLEW_STORE_LIFECYCLE_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

void thread_end(void *value);

/* Gives the calling thread its serial and its place in the list. Returns false if no function can run at the thread's end:
 * an entry of the list must not outlive its thread. */
bool thread_begin(void);

void store_new_uid(void);

void store_unmap_header(void);

/* Forgets the mappings in a forked child, which does not have them, without an access to them. */
void store_forked(void);

/* Opens a new file with room for its first chunks. Returns 0 or an errno; after an error the file does not exist. */
int store_open(const char *path, const char *info, uint32_t info_length, uint64_t parent_uid, uint64_t quota, bool keep_newest);

#endif
