/* THREAD definitions: the name and the numbers of a thread, as `threading` knows them.
 *
 * Invariant: nothing here runs Python code of the program. */
#ifndef CLEW_STORE_THREAD_DEFINITION_H
#define CLEW_STORE_THREAD_DEFINITION_H

#include "core.h"

#include <stddef.h>

/* Appends `text` to `out` as the inside of a JSON string. Returns the bytes written, at most `room`. */
size_t json_escape(char *out, size_t room, const char *text, size_t length);

/* Writes the THREAD definition of the calling thread. The adapter of `threading` defines a later name again. */
void thread_define(void);

/* Finds the table of threads, unless it is known. */
void find_python_threads(void);

#endif
