/* Replace methods of C types, in the types themselves, by clew's functions.
 *
 * So every object of such a type is observed, including objects created earlier, by C code, or through a name
 * imported early. The type and the names, signatures, documentation and errors of its methods do not change.
 * Invariant: a method with an unknown shape never changes, and the caller gets an error. */

#ifndef CLEW_HOOKS_METHODS_H
#define CLEW_HOOKS_METHODS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <string.h>

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

/* What a type has of its own under a name, if it is of that kind; borrowed from the type, NULL without an error if not. */
static PyObject *own_descriptor_of(PyTypeObject *type, const char *name, PyTypeObject *kind) {
    PyObject *dict = own_methods(type);
    PyObject *found = dict ? PyDict_GetItemString(dict, name) : NULL;
    Py_XDECREF(dict);
    PyErr_Clear();
    return found && Py_IS_TYPE(found, kind) ? found : NULL;
}

/* The definition of a type's own method, likewise. */
static PyMethodDef *method_find(PyTypeObject *type, const char *name) {
    PyObject *found = own_descriptor_of(type, name, &PyMethodDescr_Type);
    return found ? ((PyMethodDescrObject *)found)->d_method : NULL;
}

/* Puts a descriptor of ours, which it takes, into the type's dictionary. False and an error when it can't. */
static bool descriptor_put(PyTypeObject *type, const char *name, PyObject *made) {
    PyObject *dict = own_methods(type);
    bool done = dict && made && !PyDict_SetItemString(dict, name, made);
    if (done) PyType_Modified(type);
    Py_XDECREF(made);
    Py_XDECREF(dict);
    return done;
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
    return descriptor_put(type, name, PyDescr_NewMethod(type, &method->definition));
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

/* ---- The same in one shape, whatever the original's: by vectors, with names ---- */

typedef PyObject *(*method)(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

struct patched {
    PyMethodDef definition; /* the original's, with our function */
    PyObject *original;     /* Owned: the method descriptor that we stand for */
};

static PyObject *call_original(const struct patched *patched, PyObject *object, PyObject *const *arguments, Py_ssize_t count,
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

/* The C function of a method without arguments, to be called without a lookup; NULL and an error when it is no such one. */
static PyCFunction plain_method(PyTypeObject *type, const char *name) {
    PyMethodDef *found = method_find(type, name);
    if (found && found->ml_flags == METH_NOARGS) return found->ml_meth;
    PyErr_Format(PyExc_TypeError, "%s.%s is not the method it was", type->tp_name, name);
    return NULL;
}

/* Puts `ours` in the place of a method, under its name, signature and documentation. False and an error when it can't. */
static bool patch_method(PyTypeObject *type, const char *name, struct patched *patched, method ours) {
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

/* Makes `__name__` of the type's dictionary, which subclasses call by `super()`, call `ours` as the slot does. */
static bool patch_wrapper(PyTypeObject *type, const char *name, void *ours) {
    PyObject *found = own_descriptor_of(type, name, &PyWrapperDescr_Type);
    if (!found) {
        PyErr_Format(PyExc_TypeError, "%s.%s is not the slot it was", type->tp_name, name);
        return false;
    }
    return descriptor_put(type, name, PyDescr_NewWrapper(type, ((PyWrapperDescrObject *)found)->d_base, ours));
}

#endif
