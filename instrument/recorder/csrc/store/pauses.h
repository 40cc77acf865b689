/* Pauses: the time in which a thread did not run, because the operating system took the processor away or because it blocked.
 *
 * glibc registers a restartable-sequence area for every thread. The kernel sets `rseq_cs` in it to 0 when it takes the
 * processor away, and also when the thread blocks, moves to another processor or gets a signal. So a descriptor of code that
 * never runs is a latch: a record costs one more load to see that it is closed, and only an open one is looked at.
 *
 * A look compares the time that passed with the thread's processor time. The difference becomes a PAUSE record that begins
 * that long before now. Invariants: a latch that other code set stays as it is; where there is no such area, no record
 * changes; no descriptor stays open. */
#ifndef CLEW_STORE_PAUSES_H
#define CLEW_STORE_PAUSES_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the latch is, from the thread pointer: in the area of glibc, or a number of ours that is never 0. */
SHARED ptrdiff_t pause_latch;

/* Did the thread perhaps not run since its last record? Never in a thread that was not armed. */
static inline bool pause_seen(void) {
#if defined(WITHOUT_PAUSES) /* benchmarks/recording/pauses.py measures what the rest costs */
    return false;
#elif defined(__x86_64__)
    uint64_t found;
    __asm__ volatile("movq %%fs:(%1), %0" : "=r"(found) : "r"(pause_latch));
    return found == 0;
#elif defined(__aarch64__)
    return *(const volatile uint64_t *)((const char *)__builtin_thread_pointer() + pause_latch) == 0;
#else
    return false;
#endif
}

/* At the beginning of a thread's records: from now on its pauses are told. */
void pause_arm(void);

/* At the end of the thread. */
void pause_disarm(void);

/* Stores a PAUSE, if the thread did not run for longer than the look itself takes, and closes the latch. To be called before
 * the record that saw it. */
COLD void pause_look(void);

/* What tells of pauses here, as JSON for the header, or why nothing does. */
PyObject *core_pause_source(PyObject *module, PyObject *ignored);

/* `watch_pauses(on)`: begins or ends to record them. */
PyObject *core_watch_pauses(PyObject *module, PyObject *on);

/* When the module is loaded. */
void pause_ready(void);

#endif
