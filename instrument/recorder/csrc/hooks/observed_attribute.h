/* Attributes that are set once and read later: the flag of an event, the state of a future.
 *
 * A Latch is a descriptor that replaces another attribute; the program still finds the value under the name of that
 * attribute. When the attribute gets one of the relevant values, the Latch records the writer under a fresh key (with
 * `own`, under the object's key), which the object stores. When such a value is read, the Latch records the reader. Invariant: value, key and record
 * change together, regardless of other threads. */
#ifndef CLEW_HOOKS_OBSERVED_ATTRIBUTE_H
#define CLEW_HOOKS_OBSERVED_ATTRIBUTE_H

#include "core.h"

#include <stdbool.h>

SHARED PyTypeObject latch_type;

/* Readies the type. False and an error when it can't. */
bool latch_ready(void);

#endif
