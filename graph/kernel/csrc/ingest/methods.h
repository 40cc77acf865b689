/* The functions of the module that `ingest.c` lists and other files implement. */
#ifndef CLEW_METHODS_H
#define CLEW_METHODS_H

#include <Python.h>

PyObject *pair_events(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *waits(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *arrange_edges(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *fill(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *steps(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *nanoseconds(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *tally_strands(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *place_records(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

#endif
