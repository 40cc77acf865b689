/* The functions, methods and types that the module consists of; `structure.c` lists them. */
#ifndef CLEW_METHODS_H
#define CLEW_METHODS_H

#include "objects.h"

PyObject *kernel_build(PyObject *module, PyObject *args);
PyObject *kernel_times_ascend(PyObject *module, PyObject *args);
PyObject *plane_condense(PlaneObject *self, PyObject *args);
PyObject *plane_level(PlaneObject *self, PyTypeObject *of, PyObject *const *args, Py_ssize_t count, PyObject *names);
extern PyType_Spec level_spec;
PyObject *kernel_dominators(PyObject *module, PyObject *args);
PyObject *plane_gather(PlaneObject *self, PyObject *args);
PyObject *plane_path(PlaneObject *self, PyObject *args);
void plane_dealloc(PlaneObject *self);
PyObject *plane_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *plane_locate(PlaneObject *self, PyObject *args);
PyObject *plane_rows_of(PlaneObject *self, PyObject *args);
PyObject *plane_owners(PlaneObject *self, PyObject *args);
PyObject *plane_rows(PlaneObject *self, PyObject *args);
PyObject *plane_slice(PlaneObject *self, PyObject *args);
/* Continues a slice whose bounds the caller holds: reaches new starts, and follows edges for some rounds. */
PyObject *plane_resume(PlaneObject *self, PyObject *args);

#endif
