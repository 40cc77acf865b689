/* Join streams to the original data; for any input, accesses stay inside the buffers. */
#ifndef CLEW_JOIN_H
#define CLEW_JOIN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *join(PyObject *module, PyObject *argument);

#endif
