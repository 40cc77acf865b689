/* Record how a call ended that an exception left. */
#ifndef CLEW_CALLS_EXCEPTION_EXIT_H
#define CLEW_CALLS_EXCEPTION_EXIT_H

#include "core.h"

#include <stdint.h>

/* Records the exception that leaves a call, unless it only ends an iteration, and returns the word of the call's end,
 * given that of an UNWIND. `error` may be NULL. */
uint64_t ended(uint64_t word, PyObject *error);

#endif
