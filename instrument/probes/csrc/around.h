/* `Around`: a function between two calls of clew's functions. Invariant: tracebacks never contain clew's frames, and
 * the exception of the function takes precedence over any exception of clew. */
#ifndef CLEW_AROUND_H
#define CLEW_AROUND_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *around_call(PyObject *object, PyObject *args, PyObject *kwargs);

extern PyTypeObject AroundType;

#endif
