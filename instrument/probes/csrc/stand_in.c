#include "stand_in.h"

#include <string.h>

#include "around.h"

enum { STAND_INS = 16 };
static struct {
    PyObject *around;   /* Owned; NULL when the place is free. */
    PyMethodDef method; /* The original's, but for what is called. */
} stand_ins[STAND_INS];

#define STAND_IN(n)                                                                                \
    static PyObject *stand_in_##n(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) { \
        return around_call(stand_ins[n].around, args, kwargs);                                     \
    }
/* clang-format off */
STAND_IN(0) STAND_IN(1) STAND_IN(2) STAND_IN(3) STAND_IN(4) STAND_IN(5) STAND_IN(6) STAND_IN(7)
STAND_IN(8) STAND_IN(9) STAND_IN(10) STAND_IN(11) STAND_IN(12) STAND_IN(13) STAND_IN(14) STAND_IN(15)
/* clang-format on */
#undef STAND_IN
        static const PyCFunctionWithKeywords stand_in_calls[STAND_INS] = {
            stand_in_0, stand_in_1, stand_in_2,  stand_in_3,  stand_in_4,  stand_in_5,  stand_in_6,  stand_in_7,
            stand_in_8, stand_in_9, stand_in_10, stand_in_11, stand_in_12, stand_in_13, stand_in_14, stand_in_15,
};

/* The number of the place for a function of this name: the one that it has, else a free one, else -1. */
static int stand_in_place(const char *name) {
    int place = 0;
    while (place < STAND_INS && stand_ins[place].around != NULL && strcmp(stand_ins[place].method.ml_name, name) != 0) {
        place++;
    }
    return place < STAND_INS ? place : -1;
}

PyObject *stand_in(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    PyObject *owner, *before, *after;
    if (!PyArg_ParseTuple(args, "O!sOO:stand_in", &PyModule_Type, &owner, &name, &before, &after)) {
        return NULL;
    }
    PyObject *found = PyObject_GetAttrString(owner, name);
    PyObject *made = NULL;
    int place = stand_in_place(name);
    if (found != NULL && (place < 0 || stand_ins[place].around != NULL || !PyCFunction_CheckExact(found))) {
        PyErr_Format(PyExc_ValueError, "%s cannot be replaced", name);
    } else if (found != NULL) {
        PyMethodDef *method = &stand_ins[place].method;
        *method = *((PyCFunctionObject *)found)->m_ml;
        method->ml_meth = (PyCFunction)(void (*)(void))stand_in_calls[place];
        method->ml_flags = METH_VARARGS | METH_KEYWORDS;
        stand_ins[place].around = PyObject_CallFunctionObjArgs((PyObject *)&AroundType, found, before, after, NULL);
        if (stand_ins[place].around != NULL) {
            made = PyCFunction_NewEx(method, ((PyCFunctionObject *)found)->m_self, ((PyCFunctionObject *)found)->m_module);
        }
        if (made != NULL && PyObject_SetAttrString(owner, name, made) < 0) {
            Py_CLEAR(made);
        }
    }
    Py_XDECREF(found);
    return made;
}
