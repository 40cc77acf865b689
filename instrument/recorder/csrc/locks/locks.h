/* Wake-ups between threads: RELEASE and ACQUIRE records of the C locks that `threading` is built on.
 *
 * A lock is relevant from the time when a thread finds it taken until that thread has it. A table in this file lists
 * the relevant locks; an uncontended acquire or release only checks that the table is empty. Because both run with
 * the GIL held, every release that wakes a waiting thread is seen, and exactly that thread takes the key that the
 * release leaves in the table.
 *
 * Conditions, and so events, semaphores and barriers, wait on a lock created for the single wait. This lock is in
 * the table from the start (`awaited`), so that a wait that is over before it begins to block is also seen, and the
 * name of its mechanism is known.
 *
 * Invariants: a lock behaves the same as without clew, including error messages; this code never runs Python code. */
#ifndef CLEW_LOCKS_LOCKS_H
#define CLEW_LOCKS_LOCKS_H

#include "core.h"

#include <stdint.h>

/* The other threads are not in a forked child, nor what they waited for; but what they held stays taken. `process` and `epoch`
 * are the parent's. */
void locks_forked(uint64_t process, uint64_t epoch);

/* The lock of a condition's wait that begins. A program may have put locks of another type into `threading`. */
PyObject *core_waiter(PyObject *module, PyObject *ignored);

PyObject *core_trace_locks(PyObject *module, PyObject *arguments);

#endif
