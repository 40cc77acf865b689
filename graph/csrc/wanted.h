/* Is what a long walk finds still wanted?
 *
 * What another thread throws into ours (PyThreadState_SetAsyncExc) arrives once the interpreter goes on. A walk that takes long
 * looks for it at times, which needs no GIL, and ends at once. Invariant: it then raises what was thrown, and that does not
 * arrive a second time. */
#ifndef CLEW_WANTED_H
#define CLEW_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where it stands what was thrown; NULL for nothing. */
typedef void *const volatile *Thrown;

/* To be asked at every step; one in 65,536 looks. */
static inline bool is_unwanted(Thrown thrown, uint64_t step) { return !(step & 0xFFFF) && *thrown; }

#ifdef Py_PYTHON_H
/* Of the running thread. */
static inline Thrown thrown_here(void) { return (Thrown)&PyThreadState_Get()->async_exc; }

/* The interpreter raises it wherever it begins to run something. */
static inline PyObject *nobody_wants_it(void) {
    PyObject *names = PyDict_New();
    PyObject *nothing = names ? PyRun_String("pass", Py_file_input, names, names) : NULL;
    Py_XDECREF(names);
    Py_XDECREF(nothing);
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt); /* it was taken back */
    return NULL;
}
#endif

#endif
