#include "unseen.h"

PyObject *exhaustion; /* Owned: what being out of stack or memory raises. */
PyObject *refusal;    /* Owned: these, and what a call with wrong arguments raises. */

PyObject *call_unseen(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *dropped) {
    PyThreadState *state = PyThreadState_Get();
    PyThreadState_EnterTracing(state);
    PyObject *result = PyObject_Call(function, args, kwargs);
    PyThreadState_LeaveTracing(state);
    if (result == NULL && dropped != NULL && PyErr_ExceptionMatches(dropped)) {
        PyErr_Clear();
    }
    return result;
}

int no_keywords(const char *name, PyObject *kwargs) {
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_Format(PyExc_TypeError, "%s takes no keyword arguments", name);
        return 0;
    }
    return 1;
}
