/* asyncio's futures and tasks in C: their outcomes, and tasks that start eagerly.
 *
 * The C types `_asyncio.Future` and `_asyncio.Task` are patched in place. They remain the types that the program and
 * asyncio's own fast paths use, and methods keep their names, signatures and documentation. Invariants: all code
 * runs with the GIL held; failures in this code are dropped, and the call continues. */
#ifndef CLEW_ASYNCIO_TASKS_H
#define CLEW_ASYNCIO_TASKS_H

#include "core.h"

/* outcome_taken(future): records that the caller learned the outcome. Does nothing for other types than those in C. */
PyObject *core_outcome_taken(PyObject *module, PyObject *future);

/* watch_futures(future, site): the C type. */
PyObject *core_watch_futures(PyObject *module, PyObject *arguments);

/* watch_tasks(task, site): the C type. */
PyObject *core_watch_tasks(PyObject *module, PyObject *arguments);

#endif
