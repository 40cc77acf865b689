#include "hooks/methods.h"

/* The type's own dictionary; a new reference. */
static PyObject *own_methods(PyTypeObject *type) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(type);
#else
    return Py_XNewRef(type->tp_dict);
#endif
}

/* The type's own attribute of this name, if it has this kind; borrowed from the type, else NULL without an error. */
static PyObject *own_descriptor_of(PyTypeObject *type, const char *name, PyTypeObject *kind) {
    PyObject *dict = own_methods(type);
    PyObject *found = dict ? PyDict_GetItemString(dict, name) : NULL;
    Py_XDECREF(dict);
    PyErr_Clear();
    return found && Py_IS_TYPE(found, kind) ? found : NULL;
}

PyMethodDef *method_find(PyTypeObject *type, const char *name) {
    PyObject *found = own_descriptor_of(type, name, &PyMethodDescr_Type);
    return found ? ((PyMethodDescrObject *)found)->d_method : NULL;
}

/* Stores clew's descriptor, which it takes over, in the type's dictionary. Returns false and an error if it cannot. */
static bool descriptor_put(PyTypeObject *type, const char *name, PyObject *made) {
    PyObject *dict = own_methods(type);
    bool done = dict && made && !PyDict_SetItemString(dict, name, made);
    if (done) PyType_Modified(type);
    Py_XDECREF(made);
    Py_XDECREF(dict);
    return done;
}

bool method_replace(PyTypeObject *type, const char *name, PyCFunction function, struct method *method) {
    PyMethodDef *found = method_find(type, name);
    if (!found) {
        PyErr_Format(PyExc_AttributeError, "%s has no method %s", type->tp_name, name);
        return false;
    }
    method->definition = *found;
    method->original = found->ml_meth;
    method->definition.ml_meth = function;
    return descriptor_put(type, name, PyDescr_NewMethod(type, &method->definition));
}

bool function_replace(PyObject *builtin, int flags, PyCFunction function, struct method *method) {
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

PyObject *call_original(const struct patched *patched, PyObject *object, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names) {
    PyObject *stack[8];
    Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0);
    if (all >= 8) { /* too many for any of them: let it say so */
        PyObject *bound = Py_TYPE(patched->original)->tp_descr_get(patched->original, object, NULL);
        PyObject *result = bound ? PyObject_Vectorcall(bound, arguments, (size_t)count, names) : NULL;
        Py_XDECREF(bound);
        return result;
    }
    stack[0] = object;
    for (Py_ssize_t i = 0; i < all; i++) stack[i + 1] = arguments[i];
    return PyObject_Vectorcall(patched->original, stack, (size_t)count + 1, names);
}

bool builtin_patch(PyObject *builtin, struct patched *patched, method ours) {
    PyCFunctionObject *object = (PyCFunctionObject *)builtin, *shape;
    patched->original = PyCFunction_NewEx(object->m_ml, object->m_self, object->m_module);
    patched->definition = *object->m_ml;
    patched->definition.ml_meth = (PyCFunction)(void (*)(void))ours;
    patched->definition.ml_flags = METH_FASTCALL | METH_KEYWORDS;
    shape = patched->original ? (PyCFunctionObject *)PyCFunction_NewEx(&patched->definition, NULL, NULL) : NULL;
    if (!shape) return false;
    object->m_ml = &patched->definition;
    object->vectorcall = shape->vectorcall;
    Py_DECREF(shape);
    return true;
}

PyCFunction plain_method(PyTypeObject *type, const char *name) {
    PyMethodDef *found = method_find(type, name);
    if (found && found->ml_flags == METH_NOARGS) return found->ml_meth;
    PyErr_Format(PyExc_TypeError, "%s.%s is not the method it was", type->tp_name, name);
    return NULL;
}

bool patch_method(PyTypeObject *type, const char *name, struct patched *patched, method ours) {
    PyObject *found = own_descriptor_of(type, name, &PyMethodDescr_Type);
    if (!found) {
        PyErr_Format(PyExc_TypeError, "%s.%s is not the method it was", type->tp_name, name);
        return false;
    }
    patched->original = Py_NewRef(found);
    patched->definition = *((PyMethodDescrObject *)found)->d_method;
    patched->definition.ml_meth = (PyCFunction)(void (*)(void))ours;
    patched->definition.ml_flags = METH_FASTCALL | METH_KEYWORDS;
    return descriptor_put(type, name, PyDescr_NewMethod(type, &patched->definition));
}

bool patch_wrapper(PyTypeObject *type, const char *name, void *ours) {
    PyObject *found = own_descriptor_of(type, name, &PyWrapperDescr_Type);
    if (!found) {
        PyErr_Format(PyExc_TypeError, "%s.%s is not the slot it was", type->tp_name, name);
        return false;
    }
    return descriptor_put(type, name, PyDescr_NewWrapper(type, ((PyWrapperDescrObject *)found)->d_base, ours));
}
