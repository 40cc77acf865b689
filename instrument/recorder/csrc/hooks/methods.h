/* Replace methods of C types, in the types themselves, by clew's functions.
 *
 * So every object of such a type is observed, including objects created earlier, by C code, or through a name
 * imported early. The type and the names, signatures, documentation and errors of its methods do not change.
 * Invariant: a method with an unknown shape never changes, and the caller gets an error. */
#ifndef CLEW_HOOKS_METHODS_H
#define CLEW_HOOKS_METHODS_H

#include "core.h"

#include <stdbool.h>

struct method {
    PyMethodDef definition; /* Ours; its name and documentation are borrowed from the original's */
    PyCFunction original;
};

/* The definition of a type's own method, likewise. */
PyMethodDef *method_find(PyTypeObject *type, const char *name);

/* Replaces the method `name` by `function`, which is called like the original. Returns false and an error if it cannot. */
bool method_replace(PyTypeObject *type, const char *name, PyCFunction function, struct method *method);

/* Makes a builtin function call `function`, which is called like the original. Returns false and an error if it cannot. */
bool function_replace(PyObject *builtin, int flags, PyCFunction function, struct method *method);

/* ---- The same in one shape, whatever the original's: by vectors, with names ---- */

typedef PyObject *(*method)(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

struct patched {
    PyMethodDef definition; /* the original's, with our function */
    PyObject *original;     /* Owned: the method descriptor that we stand for */
};

PyObject *call_original(const struct patched *patched, PyObject *object, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names);

/* Makes a builtin function do what `ours` does; the original becomes an object of its own. Returns false and an error if it
 * cannot. */
bool builtin_patch(PyObject *builtin, struct patched *patched, method ours);

/* The C function of a method without arguments, to be called without a lookup; NULL and an error for another kind of
 * method. */
PyCFunction plain_method(PyTypeObject *type, const char *name);

/* Replaces a method by `ours`, with its name, signature and documentation. Returns false and an error if it cannot. */
bool patch_method(PyTypeObject *type, const char *name, struct patched *patched, method ours);

/* Makes `__name__` of the type's dictionary, which subclasses call by `super()`, call `ours` as the slot does. */
bool patch_wrapper(PyTypeObject *type, const char *name, void *ours);

#endif
