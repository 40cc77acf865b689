/* Call clew's own functions from C invisibly: with tracing off, and with their failures suppressed. Invariant: an
 * interrupt (Ctrl-C) belongs to the program and passes through. */

#ifndef CLEW_UNSEEN_H
#define CLEW_UNSEEN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *exhaustion; /* Owned: what being out of stack or memory raises. */
static PyObject *refusal;    /* Owned: these, and what a call with wrong arguments raises. */

/* Calls `function` with tracing off. What it raises of `dropped` (NULL: nothing) is dropped: then NULL and no error. NULL and
 * an error after an interrupt: the program's. */
static PyObject *call_unseen(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *dropped) {
    PyThreadState *state = PyThreadState_Get();
    PyThreadState_EnterTracing(state);
    PyObject *result = PyObject_Call(function, args, kwargs);
    PyThreadState_LeaveTracing(state);
    if (result == NULL && dropped != NULL && PyErr_ExceptionMatches(dropped)) {
        PyErr_Clear();
    }
    return result;
}

static int no_keywords(const char *name, PyObject *kwargs) {
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_Format(PyExc_TypeError, "%s takes no keyword arguments", name);
        return 0;
    }
    return 1;
}

#endif
