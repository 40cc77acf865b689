/* Assign a method to a heap class implemented in C that refuses changes (Py_TPFLAGS_IMMUTABLETYPE).
 *
 * The flag protects properties that other C code relies on: the layout and slots of the class. Invariant: static C
 * classes, which all interpreters share, never change. This file never assigns special methods (`wrapper`), because
 * these fill slots. */
#ifndef CLEW_IMMUTABLE_H
#define CLEW_IMMUTABLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *put_method(PyObject *module, PyObject *args);

#endif
