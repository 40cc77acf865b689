/* The value stack and the local variables of a running frame, for each version of CPython. */
#ifndef CLEW_STACK_H
#define CLEW_STACK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* An entry of the value stack, from the bottom; NULL for an empty one. Borrowed. */
PyObject *stack_entry(PyFrameObject *frame, PyCodeObject *code, int place);

/* A local variable, cell or free variable by its number in the code; NULL if unset. Borrowed. */
PyObject *local_variable(PyFrameObject *frame, int number);

/* Borrowed. */
PyObject *global_names(PyFrameObject *frame);

/* The frame object of the next Python frame below on the same stack, or NULL. Borrowed. A frame without an object counts
 * into `skipped`. */
PyFrameObject *caller_with_object(PyFrameObject *frame, int *skipped);

#endif
