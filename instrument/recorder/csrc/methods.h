/* Our own functions in place of methods of C types, in the types themselves.
 *
 * So every object of such a type is seen, those too that were made before, or by C code, or under a name imported early;
 * and the type, its methods' names, signatures, documentation and errors stay what they were. Invariant: a method that is
 * not of the shape we know stays as it is, and the caller is told. */

#ifndef CLEW_METHODS_H
#define CLEW_METHODS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct method {
    PyMethodDef definition; /* Ours; its name and documentation are borrowed from the original's */
    PyCFunction original;
};

/* The type's own dictionary; a new reference. */
static PyObject *own_methods(PyTypeObject *type) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(type);
#else
    return Py_XNewRef(type->tp_dict);
#endif
}

/* The definition of a type's own method, borrowed from the type; NULL without an error when there is none. */
static PyMethodDef *method_find(PyTypeObject *type, const char *name) {
    PyObject *dict = own_methods(type);
    PyObject *found = dict ? PyDict_GetItemString(dict, name) : NULL;
    PyMethodDef *method = found && Py_IS_TYPE(found, &PyMethodDescr_Type) ? ((PyMethodDescrObject *)found)->d_method : NULL;
    Py_XDECREF(dict);
    PyErr_Clear();
    return method;
}

/* Puts `function`, which is called like the original, in the place of the method `name`. False and an error when it can't. */
static bool method_replace(PyTypeObject *type, const char *name, PyCFunction function, struct method *method) {
    PyMethodDef *found = method_find(type, name);
    if (!found) {
        PyErr_Format(PyExc_AttributeError, "%s has no method %s", type->tp_name, name);
        return false;
    }
    method->definition = *found;
    method->original = found->ml_meth;
    method->definition.ml_meth = function;
    PyObject *dict = own_methods(type), *made = PyDescr_NewMethod(type, &method->definition);
    bool done = dict && made && !PyDict_SetItemString(dict, name, made);
    if (done)
        PyType_Modified(type);
    Py_XDECREF(made);
    Py_XDECREF(dict);
    return done;
}

/* Makes a builtin function do what `function` does, which is called like the original. False and an error when it can't. */
static bool function_replace(PyObject *builtin, int flags, PyCFunction function, struct method *method) {
    PyCFunctionObject *object = (PyCFunctionObject *)builtin;
    if (object->m_ml->ml_flags != flags) {
        PyErr_Format(PyExc_TypeError, "%s is not the function it was", object->m_ml->ml_name);
        return false;
    }
    method->definition = *object->m_ml;
    method->original = object->m_ml->ml_meth;
    method->definition.ml_meth = function;
    object->m_ml = &method->definition;
    return true;
}

#endif
