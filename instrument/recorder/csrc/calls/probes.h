/* Probe objects.
 *
 * Invariant: `~probe` and `probe()` return None, `error in probe` returns False, and they never raise. */
#ifndef CLEW_CALLS_PROBES_H
#define CLEW_CALLS_PROBES_H

#include "core.h"

SHARED PyTypeObject probe_type;

/* Call this once the clock is chosen: unless it is the cycle counter, no probe tries to read that counter. */
int probe_ready(void);

#endif
