/* Assign a method to a heap class implemented in C that refuses changes (Py_TPFLAGS_IMMUTABLETYPE).
 *
 * The flag protects properties that other C code relies on: the layout and slots of the class. Invariant: static C
 * classes, which all interpreters share, never change. This file never assigns special methods (`wrapper`), because
 * these fill slots. */

#ifndef CLEW_IMMUTABLE_H
#define CLEW_IMMUTABLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *put_method(PyObject *Py_UNUSED(module), PyObject *args) {
    PyTypeObject *type;
    const char *name;
    PyObject *value;
    if (!PyArg_ParseTuple(args, "O!sO:put_method", &PyType_Type, &type, &name, &value)) {
        return NULL;
    }
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return PyErr_Format(PyExc_TypeError, "%s.%s cannot be replaced", type->tp_name, name);
    }
    /* Of a class made at run time, the dictionary is its own in every interpreter. */
    if (PyDict_SetItemString(type->tp_dict, name, value) < 0) {
        return NULL;
    }
    PyType_Modified(type);
    Py_RETURN_NONE;
}

#endif
