#include "immutable.h"

PyObject *put_method(PyObject *Py_UNUSED(module), PyObject *args) {
    PyTypeObject *type;
    const char *name;
    PyObject *value;
    if (!PyArg_ParseTuple(args, "O!sO:put_method", &PyType_Type, &type, &name, &value)) {
        return NULL;
    }
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return PyErr_Format(PyExc_TypeError, "%s.%s cannot be replaced", type->tp_name, name);
    }
    /* A class made at run time has a dictionary of its own in every interpreter. */
    if (PyDict_SetItemString(type->tp_dict, name, value) < 0) {
        return NULL;
    }
    PyType_Modified(type);
    Py_RETURN_NONE;
}
