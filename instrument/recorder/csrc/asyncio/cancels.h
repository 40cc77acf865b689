/* Who asks for the cancellation of tasks and futures.
 *
 * A CANCEL is written before the request is carried out, by the strand that makes it. Where asyncio or a library asks (a time
 * limit, a group that ends its children), an adapter has told the channel and the line for the time of its call. */
#ifndef CLEW_ASYNCIO_CANCELS_H
#define CLEW_ASYNCIO_CANCELS_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

/* The arguments are those of `cancel`. */
void cancel_task(PyObject *task, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
void cancel_future(PyObject *future, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

/* Did the `__init__` of a task or future run? */
bool cancel_is_made(PyObject *future);

/* A task passes the request on to the future that it waits for: such calls are not requests of their own. */
void cancel_passed_on(int by);

PyObject *core_watch_cancels(PyObject *module, PyObject *arguments);
PyObject *core_asking(PyObject *module, PyObject *arguments);
PyObject *core_asking_once(PyObject *module, PyObject *arguments);
PyObject *core_cancel_asked(PyObject *module, PyObject *arguments);

#endif
