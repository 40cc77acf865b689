/* The signals that this process sent to itself: the cause of a handler's run if the cause is certain.
 *
 * The functions that send signals remain the same objects; only their implementation is clew's. Invariant: a signal
 * from another source never has a cause. */
#ifndef CLEW_CALLBACKS_SIGNALS_H
#define CLEW_CALLBACKS_SIGNALS_H

#include "core.h"

/* The key of what sent a signal whose handler now runs; 0 when that is not known. */
PyObject *core_signal_cause(PyObject *module, PyObject *number);

PyObject *core_watch_signals(PyObject *module, PyObject *arguments);

#endif
