/* What probes need beneath Python: calling our own functions unseen, and reaching scripts before they run.
 *
 * The main script is not imported, so no import hook sees its code. A frame evaluation hook (PEP 523) sees it once, offers
 * it to a function of ours and takes itself out. A script that a tool runs (a debugger, a profiler, coverage) goes through
 * `exec`, which offers it likewise. Invariant: a module's own instructions are never changed, only the constants (nested
 * code objects) they load, so the frame that is about to run needs no change.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#ifdef Py_GIL_DISABLED
#error "the probes rely on the GIL; an interpreter that can do without it uses what is in Python"
#endif

#if PY_VERSION_HEX < 0x030C0000
/* 3.11 has no public way from an interpreter frame to its code. */
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

static PyObject *exhaustion; /* Owned: what being out of stack or memory raises. */
static PyObject *refusal;    /* Owned: these, and what a call with wrong arguments raises. */

/* Calls `function` with tracing off. What it raises of `dropped` (NULL: nothing) is dropped: then NULL and no error. NULL and
 * an error after an interrupt: the program's. */
static PyObject *
call_unseen(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *dropped)
{
    PyThreadState *state = PyThreadState_Get();
    PyThreadState_EnterTracing(state);
    PyObject *result = PyObject_Call(function, args, kwargs);
    PyThreadState_LeaveTracing(state);
    if (result == NULL && dropped != NULL && PyErr_ExceptionMatches(dropped)) {
        PyErr_Clear();
    }
    return result;
}

static int
no_keywords(const char *name, PyObject *kwargs)
{
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_Format(PyExc_TypeError, "%s takes no keyword arguments", name);
        return 0;
    }
    return 1;
}

typedef struct {
    PyObject_HEAD
    PyObject *function; /* Owned. */
    Py_ssize_t kept;    /* Which argument is the result when the function fails; -1 for None. */
} Quiet;

static PyObject *
quiet_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t kept = ((Quiet *)self)->kept;
    PyObject *result = call_unseen(((Quiet *)self)->function, args, kwargs, exhaustion);
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return Py_NewRef(kept >= 0 && kept < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, kept) : Py_None);
}

static PyObject *
quiet_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function;
    Py_ssize_t kept = -1;
    if (!no_keywords("Quiet", kwargs) || !PyArg_ParseTuple(args, "O|n:Quiet", &function, &kept)) {
        return NULL;
    }
    Quiet *self = (Quiet *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->function = Py_NewRef(function);
        self->kept = kept;
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
    .tp_doc = PyDoc_STR("Quiet(function, kept=-1): calls function with tracing off. When it runs out of stack or memory the\n"
                        "result is the argument numbered kept, or None."),
    .tp_new = quiet_new,
    .tp_call = quiet_call,
    .tp_traverse = quiet_traverse,
    .tp_clear = quiet_clear,
    .tp_dealloc = quiet_dealloc,
};

typedef struct {
    PyObject_HEAD
    PyObject *function, *before, *after; /* Owned; before and after are NULL when there is none. */
    PyObject *dict;                      /* Owned; what functools.update_wrapper puts here. */
} Around;

/* The arguments of `after`: the result, None if there is none, then the call's. */
static PyObject *
with_result(PyObject *result, PyObject *args)
{
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

static PyObject *
around_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
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

static PyObject *
around_get(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(owner))
{
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static PyObject *
around_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
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

static int
around_traverse(PyObject *object, visitproc visit, void *arg)
{
    Around *self = (Around *)object;
    Py_VISIT(self->function);
    Py_VISIT(self->before);
    Py_VISIT(self->after);
    Py_VISIT(self->dict);
    return 0;
}

static int
around_clear(PyObject *object)
{
    Around *self = (Around *)object;
    Py_CLEAR(self->function);
    Py_CLEAR(self->before);
    Py_CLEAR(self->after);
    Py_CLEAR(self->dict);
    return 0;
}

static void
around_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    around_clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* What it stands for. */
static PyObject *
around_repr(PyObject *object)
{
    return PyObject_Repr(((Around *)object)->function);
}

static PyGetSetDef around_attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject AroundType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.probes._entry.Around",
    .tp_basicsize = sizeof(Around),
    .tp_dictoffset = offsetof(Around, dict),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = PyDoc_STR("Around(function, before=None, after=None): function, between two calls that leave no frame in tracebacks."),
    .tp_new = around_new,
    .tp_call = around_call,
    .tp_descr_get = around_get,
    .tp_repr = around_repr,
    .tp_getset = around_attributes,
    .tp_traverse = around_traverse,
    .tp_clear = around_clear,
    .tp_dealloc = around_dealloc,
};

/* Functions of `posix` with calls around them, that look like the originals: the same name, signature and module. A builtin
 * function gets nothing but its module, so each has a C function of its own, which knows its number. */
enum { STAND_INS = 16 };
static struct {
    PyObject *around;   /* Owned; NULL when the place is free. */
    PyMethodDef method; /* The original's, but for what is called. */
} stand_ins[STAND_INS];

#define STAND_IN(n)                                                                                                    \
    static PyObject *stand_in_##n(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)                        \
    {                                                                                                                  \
        return around_call(stand_ins[n].around, args, kwargs);                                                         \
    }
STAND_IN(0) STAND_IN(1) STAND_IN(2) STAND_IN(3) STAND_IN(4) STAND_IN(5) STAND_IN(6) STAND_IN(7)
STAND_IN(8) STAND_IN(9) STAND_IN(10) STAND_IN(11) STAND_IN(12) STAND_IN(13) STAND_IN(14) STAND_IN(15)
#undef STAND_IN
static const PyCFunctionWithKeywords stand_in_calls[STAND_INS] = {
    stand_in_0, stand_in_1, stand_in_2,  stand_in_3,  stand_in_4,  stand_in_5,  stand_in_6,  stand_in_7,
    stand_in_8, stand_in_9, stand_in_10, stand_in_11, stand_in_12, stand_in_13, stand_in_14, stand_in_15,
};

/* The number of the place for a function of this name: the one that it has, else a free one, else -1. */
static int
stand_in_place(const char *name)
{
    int place = 0;
    while (place < STAND_INS && stand_ins[place].around != NULL && strcmp(stand_ins[place].method.ml_name, name) != 0) {
        place++;
    }
    return place < STAND_INS ? place : -1;
}

static PyObject *
stand_in(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name;
    PyObject *before, *after;
    if (!PyArg_ParseTuple(args, "sOO:stand_in", &name, &before, &after)) {
        return NULL;
    }
    PyObject *posix = PyImport_ImportModule("posix");
    PyObject *found = posix != NULL ? PyObject_GetAttrString(posix, name) : NULL;
    PyObject *made = NULL;
    int place = stand_in_place(name);
    if (found != NULL && (place < 0 || stand_ins[place].around != NULL || !PyCFunction_CheckExact(found))) {
        PyErr_Format(PyExc_ValueError, "posix.%s cannot be replaced", name);
    } else if (found != NULL) {
        PyMethodDef *method = &stand_ins[place].method;
        *method = *((PyCFunctionObject *)found)->m_ml;
        method->ml_meth = (PyCFunction)(void (*)(void))stand_in_calls[place];
        method->ml_flags = METH_VARARGS | METH_KEYWORDS;
        stand_ins[place].around = PyObject_CallFunctionObjArgs((PyObject *)&AroundType, found, before, after, NULL);
        if (stand_ins[place].around != NULL) {
            made = PyCFunction_NewEx(method, posix, ((PyCFunctionObject *)found)->m_module);
        }
        if (made != NULL && PyObject_SetAttrString(posix, name, made) < 0) {
            Py_CLEAR(made);
        }
    }
    Py_XDECREF(found);
    Py_XDECREF(posix);
    return made;
}

#include "bracket.h"

static PyObject *exec_offer;      /* Owned; NULL while exec is as ever. */
static PyMethodDef *exec_builtin; /* Borrowed from the interpreter: what `exec` was. */
static PyMethodDef exec_method;   /* The one below, under its name and documentation. */

enum { EXEC_ARGUMENTS = 4 }; /* As many as exec takes. */

/* Is it a module's code, and not run by the import system, whose loaders' code was offered when it was read? */
static int
is_script(PyObject *code)
{
    PyObject *name = ((PyCodeObject *)code)->co_name;
    if (!PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, "<module>") != 0) {
        return 0;
    }
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) {
        return 0;
    }
    PyCodeObject *caller = PyFrame_GetCode(frame);
    int importing = PyUnicode_Check(caller->co_filename) &&
                    PyUnicode_CompareWithASCIIString(caller->co_filename, "<frozen importlib._bootstrap>") == 0;
    Py_DECREF(caller);
    return !importing;
}

/* Borrowed: the namespace that exec is told to use, or that of its caller; NULL for what exec will refuse. */
static PyObject *
namespace_of(PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *found = count > 1 ? args[1] : NULL;
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "globals") == 0) {
            found = args[count + i];
        }
    }
    if (found == NULL || found == Py_None) {
        found = PyEval_GetGlobals();
    }
    return found != NULL && PyDict_Check(found) ? found : NULL;
}

/* Called straight, as the interpreter calls exec itself: one level of recursion, and the frame of the caller. */
static PyObject *
exec_offered(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    _PyCFunctionFastWithKeywords original = (_PyCFunctionFastWithKeywords)(void (*)(void))exec_builtin->ml_meth;
    Py_ssize_t all = count + (names != NULL ? PyTuple_GET_SIZE(names) : 0);
    if (count < 1 || all > EXEC_ARGUMENTS || !PyCode_Check(args[0]) || exec_offer == NULL || !is_script(args[0])) {
        return original(module, args, count, names);
    }
    PyObject *namespace = namespace_of(args, count, names);
    PyObject *pair = namespace != NULL ? PyTuple_Pack(2, args[0], namespace) : NULL;
    PyObject *answer = pair != NULL ? call_unseen(exec_offer, pair, NULL, PyExc_Exception) : NULL;
    Py_XDECREF(pair);
    if (answer == NULL && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *result;
    if (answer != NULL && PyCode_Check(answer)) {
        PyObject *changed[EXEC_ARGUMENTS];
        memcpy(changed, args, (size_t)all * sizeof(PyObject *));
        changed[0] = answer;
        result = original(module, changed, count, names);
    } else {
        result = original(module, args, count, names);
    }
    Py_XDECREF(answer);
    return result;
}

static PyObject *
watch_exec(PyObject *Py_UNUSED(module), PyObject *function)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError, "only the main interpreter's scripts are recorded");
        return NULL;
    }
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *found = builtins != NULL ? PyObject_GetAttrString(builtins, "exec") : NULL;
    if (found != NULL && exec_builtin == NULL) {
        if (!PyCFunction_CheckExact(found) || PyCFunction_GET_FLAGS(found) != (METH_FASTCALL | METH_KEYWORDS)) {
            PyErr_SetString(PyExc_RuntimeError, "exec is not the interpreter's own");
            Py_CLEAR(found);
        } else {
            PyCFunctionObject *function_of = (PyCFunctionObject *)found;
            exec_method = *function_of->m_ml;
            exec_method.ml_meth = (PyCFunction)(void (*)(void))exec_offered;
            PyObject *made = PyCFunction_NewEx(&exec_method, function_of->m_self, function_of->m_module);
            if (made == NULL || PyObject_SetAttrString(builtins, "exec", made) < 0) {
                Py_CLEAR(found);
            } else {
                exec_builtin = function_of->m_ml;
            }
            Py_XDECREF(made);
        }
    }
    Py_XDECREF(builtins);
    if (found == NULL) {
        return NULL;
    }
    Py_DECREF(found);
    Py_XSETREF(exec_offer, Py_NewRef(function));
    Py_RETURN_NONE;
}

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
    {"watch_exec", watch_exec, METH_O,
     PyDoc_STR("watch_exec(offer): whenever a module's code is given to exec outside of an import, calls offer(code, globals);\n"
               "a code object that it returns is executed instead.")},
    {"stand_in", stand_in, METH_VARARGS,
     PyDoc_STR("stand_in(name, before, after): puts a builtin function in place of posix.NAME that is like Around(that, before,\n"
               "after) but looks like the original, and returns it.")},
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
    exhaustion = PyTuple_Pack(2, PyExc_RecursionError, PyExc_MemoryError);
    refusal = PyTuple_Pack(3, PyExc_RecursionError, PyExc_MemoryError, PyExc_TypeError);
    if (exhaustion == NULL || refusal == NULL) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddType(module, &QuietType) < 0 || PyModule_AddType(module, &AroundType) < 0 ||
                           PyModule_AddType(module, &BracketType) < 0)) {
        Py_CLEAR(module);
    }
    return module;
}
