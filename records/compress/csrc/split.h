/* Split a chunk's data into streams of similar bytes. */
#ifndef CLEW_SPLIT_H
#define CLEW_SPLIT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *split(PyObject *module, PyObject *argument);

#endif
