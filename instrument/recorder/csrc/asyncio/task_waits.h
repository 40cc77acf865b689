/* What a task waits for: a WAIT at the end of a step after which a future blocks the task, a WAKE at its next step.
 *
 * A table knows which object (a lock, a queue, …) a future stands for; adapters fill it, and it forgets a future that is
 * deallocated. Invariants: all code runs with the GIL held; no function leaves an exception set, or changes one that is set. */
#ifndef CLEW_ASYNCIO_TASK_WAITS_H
#define CLEW_ASYNCIO_TASK_WAITS_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#include "asyncio/strands.h"
#include "hooks/operands.h"

/* An unfinished future is awaited here. */
void wait_awaited(PyObject *future);

/* The step of a task is over, and the task is not. */
void task_wait_begin(PyObject *task);

/* The task's next step begins, `waking` is the future that woke it, or NULL. `was` is a copy of the task's entry. */
void task_wait_end(PyObject *task, const struct beside *was, PyObject *waking);

/* A task is done: writes how it ended, unless it returned. */
void task_ended(PyObject *task, uint64_t key);

/* An unfinished task is deallocated. */
void task_dropped(uint64_t key);

/* A future is deallocated. */
void wait_forget(const PyObject *future);

/* The calls that adapters make; `_core.pyi` describes them. */
PyObject *core_watch_task_waits(PyObject *module, PyObject *arguments);
PyObject *core_await_about(PyObject *module, PyObject *arguments);
PyObject *core_await_next(PyObject *module, PyObject *arguments);
PyObject *core_ends_of(PyObject *module, PyObject *arguments);
PyObject *core_wait_timed_out(PyObject *module, PyObject *future);
PyObject *core_strand_key(PyObject *module, PyObject *task);
PyObject *core_limit_task(PyObject *module, PyObject *arguments);
PyObject *core_blocking(PyObject *module, PyObject *arguments);
PyObject *core_holding(PyObject *module, PyObject *arguments);

#endif
