/* WAIT and WAKE records of threads: what the calling thread is about to wait for, who holds it, and how the wait ended.
 *
 * A wait often is several calls deep: `Queue.get` waits by a condition, which waits by a lock. `watch_waits` gives the
 * functions of the standard library that wait in this way. The outermost of them names the mechanism and the object.
 *
 * Invariants: the WAIT is in the trace before the thread blocks. No function here leaves an exception set, or changes one that
 * is set, or runs while another one of the same thread does. */
#ifndef CLEW_FACTS_WAITS_H
#define CLEW_FACTS_WAITS_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locks/holders.h"

#define NO_LIMIT -1.0

struct wait {
    uint64_t key, epoch, site;
    uint32_t channel; /* 0: nothing was recorded, and its end is not */
};

/* The key of a lock for its whole life in this process, kept in a table; 0 when there is no memory. */
uint64_t lock_key(PyObject *lock);
void lock_key_forget(const PyObject *lock); /* the lock is deallocated */

/* Records that the thread waits for an object whose key is known, in seconds at most. `holder` may be NULL. `fields`, of
 * `length` bytes, are further fields of the JSON text, each with a comma behind it. */
struct wait wait_tell(uint32_t channel, uint64_t key, double limit, uint32_t waiters, const struct holder *holder,
                      const char *fields, size_t length);

/* Records a wait that the calling frame, a function of the standard library, makes by a lock of its own. `plain`: by a lock
 * that is not made for one wait. False if the frame does not wait in such a way. */
bool wait_tell_caller(struct wait *wait, double limit, bool plain);

/* Records the wait's end: "" if it was satisfied, else as in `clew.records.format.facts.Wake`. */
void wait_over(const struct wait *wait, const char *end);

/* The end of a wait by what a function returned: NULL, False, or something else. */
const char *wait_end(const PyObject *result);

/* The seconds of a time limit, or NO_LIMIT. */
double limit_seconds(PyObject *limit);

PyObject *core_watch_waits(PyObject *module, PyObject *rules);
PyObject *core_wait(PyObject *module, PyObject *arguments);
PyObject *core_wake(PyObject *module, PyObject *arguments);

#endif
