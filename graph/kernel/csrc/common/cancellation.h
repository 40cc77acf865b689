/* Check whether a long-running kernel was cancelled.
 *
 * An exception that another thread throws into this thread (PyThreadState_SetAsyncExc) arrives when the interpreter
 * continues. A long-running kernel checks for it periodically, without the GIL, and ends immediately. Invariant: the
 * kernel then raises the exception, which never arrives a second time. */
#ifndef CLEW_CANCELLATION_H
#define CLEW_CANCELLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Points to the exception that was thrown; NULL without one. */
typedef void *const volatile *Thrown;

/* Call it at every step: it checks at one step in 65,536. */
static inline bool is_cancelled(Thrown thrown, uint64_t step) { return !(step & 0xFFFF) && *thrown; }

#ifdef Py_PYTHON_H
/* Returns the place for the running thread. */
static inline Thrown thrown_here(void) { return (Thrown)&PyThreadState_Get()->async_exc; }

/* The interpreter raises the exception as soon as it runs any code. */
static inline PyObject *raise_cancelled(void) {
    PyObject *names = PyDict_New();
    PyObject *nothing = names ? PyRun_String("pass", Py_file_input, names, names) : NULL;
    Py_XDECREF(names);
    Py_XDECREF(nothing);
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt); /* the exception was cleared meanwhile */
    return NULL;
}
#endif

#endif
