#include "main_script.h"

#if PY_VERSION_HEX < 0x030C0000
/* 3.11 has no public way from an interpreter frame to its code. */
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

static PyObject *offer;                /* Owned; NULL when no hook is in place. */
static _PyFrameEvalFunction next_hook; /* The previous evaluator of frames. */

/* Borrowed from the frame. */
static PyCodeObject *code_of(struct _PyInterpreterFrame *frame) {
#if PY_VERSION_HEX < 0x030C0000
    return frame->f_code;
#else
    PyObject *code = PyUnstable_InterpreterFrame_GetCode(frame);
    Py_DECREF(code); /* The frame still holds it. */
    return (PyCodeObject *)code;
#endif
}

static PyObject *evaluate(PyThreadState *state, struct _PyInterpreterFrame *frame, int throwing);

static void unhook(PyInterpreterState *interpreter) {
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, next_hook);
    }
    Py_CLEAR(offer);
}

/* Offers a module's code; the answer is code of the same instructions whose constants it gets, or None to be asked again. */
static void offer_module(PyThreadState *state, PyCodeObject *code) {
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

static PyObject *evaluate(PyThreadState *state, struct _PyInterpreterFrame *frame, int throwing) {
    _PyFrameEvalFunction next = next_hook;
    if (offer != NULL && !throwing && PyThreadState_GetInterpreter(state) == PyInterpreterState_Main()) {
        PyCodeObject *code = code_of(frame);
        if (PyUnicode_Check(code->co_name) && PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0) {
            offer_module(state, code);
        }
    }
    return next(state, frame, throwing);
}

PyObject *watch_main(PyObject *Py_UNUSED(module), PyObject *function) {
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

PyObject *unwatch(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    unhook(PyInterpreterState_Main());
    Py_RETURN_NONE;
}

PyObject *watching(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    return PyBool_FromLong(_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Main()) == evaluate);
}
