/* Record how a call ended that an exception left. */
#ifndef CLEW_CALLS_EXCEPTION_EXIT_H
#define CLEW_CALLS_EXCEPTION_EXIT_H

#include "core.h"

#include <stdint.h>

/* The word of the end of a call that `error` (or NULL) left, given that of an UNWIND. */
uint64_t ended(uint64_t word, PyObject *error);

#endif
