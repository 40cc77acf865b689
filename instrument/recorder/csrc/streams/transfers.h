/* The effect of each call on streams, in addition to the original call.
 *
 * The calls remain the same objects and do the same work with the same arguments. clew's code counts the bytes
 * around them. Invariant: a call fails in the same way as without clew. */
#ifndef CLEW_STREAMS_TRANSFERS_H
#define CLEW_STREAMS_TRANSFERS_H

#include "core.h"

#include <stdbool.h>

#include "hooks/methods.h"
#include "streams/transfer_table.h"

SHARED const method transfer_functions[TRANSFER_COUNT];

bool transfer_watch(PyTypeObject *type, int number);

#endif
