/* Call clew's own functions from C invisibly: with tracing off, and with their failures suppressed. Invariant: an
 * interrupt (Ctrl-C) belongs to the program and passes through. */
#ifndef CLEW_UNSEEN_H
#define CLEW_UNSEEN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyObject *exhaustion; /* Owned: what being out of stack or memory raises. */
extern PyObject *refusal;    /* Owned: these, and what a call with wrong arguments raises. */

/* Calls `function` with tracing off. Drops an exception of the type `dropped` (NULL: none) and then returns NULL without
 * an error. An interrupt belongs to the program: NULL and an error. */
PyObject *call_unseen(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *dropped);

int no_keywords(const char *name, PyObject *kwargs);

#endif
