#include "quiet.h"

#include "unseen.h"

typedef struct {
    PyObject_HEAD
    PyObject *function; /* Owned. */
    Py_ssize_t kept;    /* Which argument is the result when the function fails; -1 for None. */
    int drops_all;      /* Not only what being out of stack or memory raises, but each Exception. */
} Quiet;

static PyObject *quiet_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    Py_ssize_t kept = ((Quiet *)self)->kept;
    PyObject *dropped = ((Quiet *)self)->drops_all ? PyExc_Exception : exhaustion;
    PyObject *result = call_unseen(((Quiet *)self)->function, args, kwargs, dropped);
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return Py_NewRef(kept >= 0 && kept < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, kept) : Py_None);
}

static PyObject *quiet_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function;
    Py_ssize_t kept = -1;
    int drops_all = 0;
    if (!no_keywords("Quiet", kwargs) || !PyArg_ParseTuple(args, "O|np:Quiet", &function, &kept, &drops_all)) {
        return NULL;
    }
    Quiet *self = (Quiet *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->function = Py_NewRef(function);
        self->kept = kept;
        self->drops_all = drops_all;
    }
    return (PyObject *)self;
}

static int quiet_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Quiet *)self)->function);
    return 0;
}

static int quiet_clear(PyObject *self) {
    Py_CLEAR(((Quiet *)self)->function);
    return 0;
}

static void quiet_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    quiet_clear(self);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject QuietType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.probes._entry.Quiet",
    .tp_basicsize = sizeof(Quiet),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc =
        PyDoc_STR("Quiet(function, kept=-1, drops_all=False): calls function with tracing off. When it runs out of stack\n"
                  "or memory, or with drops_all raises an Exception, the result is the argument numbered kept, or None."),
    .tp_new = quiet_new,
    .tp_call = quiet_call,
    .tp_traverse = quiet_traverse,
    .tp_clear = quiet_clear,
    .tp_dealloc = quiet_dealloc,
};
