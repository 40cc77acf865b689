/* Puts a method into a class of C's that was made at run time and refuses changes (Py_TPFLAGS_IMMUTABLETYPE).
 *
 * The flag is there for what other code in C relies on, which is the class's layout and slots. Invariant: classes that are
 * static in C, which all interpreters share, stay as they are. No special method is put here (`wrapper`): those fill slots. */

#ifndef CLEW_IMMUTABLE_H
#define CLEW_IMMUTABLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *
put_method(PyObject *Py_UNUSED(module), PyObject *args)
{
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
