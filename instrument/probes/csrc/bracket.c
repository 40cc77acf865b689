#include "bracket.h"

#include "unseen.h"

enum { ENTER, EXIT, UNWIND, START, BEFORE_EXIT, AFTER_EXIT, BEFORE_UNWIND, AFTER_UNWIND, PARTS };

typedef struct {
    PyObject_HEAD
    PyObject *parts[PARTS]; /* Owned; may be NULL. */
} Bracket;

/* Calls a part, if there is one, with tracing off; `subject` (NULL for none) goes before the call's arguments. 0, or -1 after
 * an interrupt, which is the program's. */
static int bracket_part(Bracket *self, int part, PyObject *subject, PyObject *instance, PyObject *args, PyObject *kwargs) {
    if (self->parts[part] == NULL) {
        return 0;
    }
    PyObject *all = part == UNWIND    ? PyTuple_Pack(1, subject)
                    : part < UNWIND   ? PyTuple_New(0)
                    : subject != NULL ? PyTuple_Pack(4, subject, instance, args, kwargs)
                                      : PyTuple_Pack(3, instance, args, kwargs);
    if (all == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_XDECREF(call_unseen(self->parts[part], all, NULL, exhaustion));
    Py_DECREF(all);
    return PyErr_Occurred() ? -1 : 0;
}

/* NULL, with the exception that the call ended with, or an interrupt that came on top of it. */
static PyObject *bracket_failed(Bracket *self, PyObject *instance, PyObject *args, PyObject *kwargs) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *subject = value != NULL ? value : Py_None;
    if (bracket_part(self, BEFORE_UNWIND, subject, instance, args, kwargs) < 0 ||
        bracket_part(self, UNWIND, subject, instance, args, kwargs) < 0 ||
        bracket_part(self, AFTER_UNWIND, subject, instance, args, kwargs) < 0) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return NULL;
    }
    PyErr_Restore(type, value, traceback);
    return NULL;
}

/* Called with (function, instance, args, kwargs). */
static PyObject *bracket_call(PyObject *object, PyObject *given, PyObject *Py_UNUSED(keywords)) {
    Bracket *self = (Bracket *)object;
    PyObject *function, *instance, *args, *kwargs;
    if (!PyArg_UnpackTuple(given, "Bracket", 4, 4, &function, &instance, &args, &kwargs)) {
        return NULL;
    }
    if (bracket_part(self, ENTER, NULL, instance, args, kwargs) < 0) {
        return NULL;
    }
    if (bracket_part(self, START, NULL, instance, args, kwargs) < 0) {
        return bracket_failed(self, instance, args, kwargs);
    }
    int plain = kwargs == Py_None || (PyDict_Check(kwargs) && PyDict_GET_SIZE(kwargs) == 0);
    PyObject *result = PyObject_Call(function, args, plain ? NULL : kwargs);
    if (result == NULL) {
        return bracket_failed(self, instance, args, kwargs);
    }
    if (bracket_part(self, BEFORE_EXIT, result, instance, args, kwargs) < 0) {
        Py_DECREF(result);
        return bracket_failed(self, instance, args, kwargs);
    }
    if (bracket_part(self, EXIT, NULL, instance, args, kwargs) < 0 ||
        bracket_part(self, AFTER_EXIT, result, instance, args, kwargs) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

static PyObject *bracket_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    if (!no_keywords("Bracket", kwargs)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(args) != PARTS) {
        PyErr_Format(PyExc_TypeError, "Bracket takes %d arguments", PARTS);
        return NULL;
    }
    Bracket *self = (Bracket *)type->tp_alloc(type, 0);
    for (int part = 0; self != NULL && part < PARTS; part++) {
        PyObject *given = PyTuple_GET_ITEM(args, part);
        self->parts[part] = given != Py_None ? Py_NewRef(given) : NULL;
    }
    return (PyObject *)self;
}

static int bracket_traverse(PyObject *object, visitproc visit, void *arg) {
    for (int part = 0; part < PARTS; part++) {
        Py_VISIT(((Bracket *)object)->parts[part]);
    }
    return 0;
}

static int bracket_clear(PyObject *object) {
    for (int part = 0; part < PARTS; part++) {
        Py_CLEAR(((Bracket *)object)->parts[part]);
    }
    return 0;
}

static void bracket_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    bracket_clear(self);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject BracketType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.probes._entry.Bracket",
    .tp_basicsize = sizeof(Bracket),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = PyDoc_STR(
        "Bracket(enter, exit, unwind, start, before_exit, after_exit, before_unwind, after_unwind): calls a function\n"
        "between probes and actions, for wrapt; None for what there is none of."),
    .tp_new = bracket_new,
    .tp_call = bracket_call,
    .tp_traverse = bracket_traverse,
    .tp_clear = bracket_clear,
    .tp_dealloc = bracket_dealloc,
};
