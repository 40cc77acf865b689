/* What probes need beneath Python: calling our own functions unseen, and reaching the main script before it runs.
 *
 * The main script is not imported, so no import hook sees its code. A frame evaluation hook (PEP 523) sees it once, offers
 * it to a function of ours and takes itself out. Invariant: a module's own instructions are never changed, only the
 * constants (nested code objects) they load, so the frame that is about to run needs no change.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030C0000
/* 3.11 has no public way from an interpreter frame to its code. */
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

typedef struct {
    PyObject_HEAD
    PyObject *function; /* Owned. */
} Quiet;

static PyObject *
quiet_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyThreadState *state = PyThreadState_Get();
    PyThreadState_EnterTracing(state);
    PyObject *result = PyObject_Call(((Quiet *)self)->function, args, kwargs);
    PyThreadState_LeaveTracing(state);
    if (result == NULL && (PyErr_ExceptionMatches(PyExc_RecursionError) || PyErr_ExceptionMatches(PyExc_MemoryError))) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    return result; /* NULL after an interrupt: the program's. */
}

static PyObject *
quiet_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Quiet takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O:Quiet", &function)) {
        return NULL;
    }
    Quiet *self = (Quiet *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->function = Py_NewRef(function);
    }
    return (PyObject *)self;
}

static int
quiet_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Quiet *)self)->function);
    return 0;
}

static int
quiet_clear(PyObject *self)
{
    Py_CLEAR(((Quiet *)self)->function);
    return 0;
}

static void
quiet_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    quiet_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject QuietType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.probes._entry.Quiet",
    .tp_basicsize = sizeof(Quiet),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = PyDoc_STR("Quiet(function): calls function with tracing off; None when it ran out of stack or memory."),
    .tp_new = quiet_new,
    .tp_call = quiet_call,
    .tp_traverse = quiet_traverse,
    .tp_clear = quiet_clear,
    .tp_dealloc = quiet_dealloc,
};

static PyObject *offer;                 /* Owned; NULL when no hook is in place. */
static _PyFrameEvalFunction next_hook;  /* What evaluated frames before. */

/* Borrowed from the frame. */
static PyCodeObject *
code_of(struct _PyInterpreterFrame *frame)
{
#if PY_VERSION_HEX < 0x030C0000
    return frame->f_code;
#else
    PyObject *code = PyUnstable_InterpreterFrame_GetCode(frame);
    Py_DECREF(code); /* The frame goes on holding it. */
    return (PyCodeObject *)code;
#endif
}

static PyObject *evaluate(PyThreadState *state, struct _PyInterpreterFrame *frame, int throwing);

static void
unhook(PyInterpreterState *interpreter)
{
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, next_hook);
    }
    Py_CLEAR(offer);
}

/* Offers a module's code; the answer is code of the same instructions whose constants it gets, or None to be asked again. */
static void
offer_module(PyThreadState *state, PyCodeObject *code)
{
    PyInterpreterState *interpreter = PyThreadState_GetInterpreter(state);
    PyObject *function = Py_NewRef(offer);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, next_hook);
    PyObject *answer = PyObject_CallOneArg(function, (PyObject *)code);
    Py_DECREF(function);
    if (answer == NULL) {
        PyErr_Clear();
        Py_CLEAR(offer);
        return;
    }
    if (PyCode_Check(answer)) {
        PyCodeObject *rewritten = (PyCodeObject *)answer;
        if (rewritten != code && PyTuple_GET_SIZE(rewritten->co_consts) == PyTuple_GET_SIZE(code->co_consts)) {
            PyObject *constants = code->co_consts;
            code->co_consts = rewritten->co_consts;
            rewritten->co_consts = constants;
        }
        Py_CLEAR(offer);
    } else if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == next_hook) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    }
    Py_DECREF(answer);
}

static PyObject *
evaluate(PyThreadState *state, struct _PyInterpreterFrame *frame, int throwing)
{
    _PyFrameEvalFunction next = next_hook;
    if (offer != NULL && !throwing && PyThreadState_GetInterpreter(state) == PyInterpreterState_Main()) {
        PyCodeObject *code = code_of(frame);
        if (PyUnicode_Check(code->co_name) && PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0) {
            offer_module(state, code);
        }
    }
    return next(state, frame, throwing);
}

static PyObject *
watch_main(PyObject *Py_UNUSED(module), PyObject *function)
{
    PyInterpreterState *interpreter = PyInterpreterState_Main();
    if (PyInterpreterState_Get() != interpreter) {
        PyErr_SetString(PyExc_RuntimeError, "only the main interpreter has a main script");
        return NULL;
    }
    unhook(interpreter);
    next_hook = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    offer = Py_NewRef(function);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    Py_RETURN_NONE;
}

static PyObject *
unwatch(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    unhook(PyInterpreterState_Main());
    Py_RETURN_NONE;
}

static PyObject *
watching(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Main()) == evaluate);
}

static PyMethodDef methods[] = {
    {"watch_main", watch_main, METH_O,
     PyDoc_STR("watch_main(offer): before a module's code runs, calls offer(code) until that returns a code object, whose\n"
               "constants the module then loads.")},
    {"unwatch", unwatch, METH_NOARGS, PyDoc_STR("unwatch(): takes the hook out.")},
    {"watching", watching, METH_NOARGS, PyDoc_STR("watching() -> bool: is the hook in place?")},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_entry",
    .m_doc = PyDoc_STR("What probes need beneath Python."),
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__entry(void)
{
    if (PyType_Ready(&QuietType) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddObjectRef(module, "Quiet", (PyObject *)&QuietType) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
