/* Writes: objects in rewritten code of the program that record which object changes, and which objects a call gets.
 *
 * `del write[x]` remembers an item's key for the instruction right after it, or records an object that a call gets.
 * `write[x] = y` records that `x` was written, with the short form of `y`; of the write itself, for a deletion.
 * Invariants: no code of the program runs, no object is kept alive, and nothing is raised. */
#ifndef CLEW_HOOKS_WRITES_H
#define CLEW_HOOKS_WRITES_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

SHARED PyTypeObject write_type;

/* Stops recording the writes of a site in this recording. Returns false if no write belongs to the site. */
bool writes_switch_off(uint64_t site);

bool writes_ready(PyObject *module);

#endif
