#include "around.h"

#include <stddef.h>

#include "unseen.h"

typedef struct {
    PyObject_HEAD
    PyObject *function, *before, *after; /* Owned; before and after may be NULL. */
    PyObject *dict;                      /* Owned; what functools.update_wrapper puts here. */
} Around;

/* The arguments of `after`: the result or None, then the call's. */
static PyObject *with_result(PyObject *result, PyObject *args) {
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    PyObject *all = PyTuple_New(count + 1);
    if (all != NULL) {
        PyTuple_SET_ITEM(all, 0, Py_NewRef(result != NULL ? result : Py_None));
        for (Py_ssize_t i = 0; i < count; i++) {
            PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
        }
    }
    return all;
}

PyObject *around_call(PyObject *object, PyObject *args, PyObject *kwargs) {
    Around *self = (Around *)object;
    PyObject *changed = NULL;
    if (self->before != NULL) {
        changed = call_unseen(self->before, args, kwargs, refusal);
        if (changed == NULL && PyErr_Occurred()) {
            return NULL;
        }
    }
    int replaced = changed != NULL && PyTuple_CheckExact(changed);
    PyObject *result;
    if (changed != NULL && PyList_CheckExact(changed) && PyList_GET_SIZE(changed) == 2) {
        result = PyObject_Call(self->function, PyList_GET_ITEM(changed, 0), PyList_GET_ITEM(changed, 1));
    } else {
        result = PyObject_Call(self->function, replaced ? changed : args, replaced ? NULL : kwargs);
    }
    Py_XDECREF(changed);
    if (self->after == NULL) {
        return result;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *all = with_result(result, args);
    PyObject *outcome = NULL;
    if (all != NULL) {
        /* The exception that the call ended with goes before any of ours. */
        outcome = call_unseen(self->after, all, kwargs, result == NULL ? PyExc_Exception : NULL);
        Py_DECREF(all);
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(result);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return NULL;
    }
    PyErr_Restore(type, value, traceback);
    if (result == NULL || outcome == NULL) {
        Py_XDECREF(outcome);
        return result;
    }
    Py_DECREF(result);
    return outcome;
}

static PyObject *around_get(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(owner)) {
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static PyObject *around_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *before = Py_None, *after = Py_None;
    if (!no_keywords("Around", kwargs) || !PyArg_ParseTuple(args, "O|OO:Around", &function, &before, &after)) {
        return NULL;
    }
    Around *self = (Around *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->function = Py_NewRef(function);
        self->before = before != Py_None ? Py_NewRef(before) : NULL;
        self->after = after != Py_None ? Py_NewRef(after) : NULL;
    }
    return (PyObject *)self;
}

static int around_traverse(PyObject *object, visitproc visit, void *arg) {
    Around *self = (Around *)object;
    Py_VISIT(self->function);
    Py_VISIT(self->before);
    Py_VISIT(self->after);
    Py_VISIT(self->dict);
    return 0;
}

static int around_clear(PyObject *object) {
    Around *self = (Around *)object;
    Py_CLEAR(self->function);
    Py_CLEAR(self->before);
    Py_CLEAR(self->after);
    Py_CLEAR(self->dict);
    return 0;
}

static void around_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    around_clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* The function that it replaces. */
static PyObject *around_repr(PyObject *object) { return PyObject_Repr(((Around *)object)->function); }

static PyGetSetDef around_attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject AroundType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.probes._entry.Around",
    .tp_basicsize = sizeof(Around),
    .tp_dictoffset = offsetof(Around, dict),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc =
        PyDoc_STR("Around(function, before=None, after=None): function, between two calls that leave no frame in tracebacks."),
    .tp_new = around_new,
    .tp_call = around_call,
    .tp_descr_get = around_get,
    .tp_repr = around_repr,
    .tp_getset = around_attributes,
    .tp_traverse = around_traverse,
    .tp_clear = around_clear,
    .tp_dealloc = around_dealloc,
};
