#include "calls/exception_exit.h"

#include <stdbool.h>
#include <string.h>

#include "facts/exceptions.h"
#include "trace_format.h"

/* Not asked of the classes themselves: their libraries may be none that is loaded. */
static const char *const endings[] = {"CancelledError", "Cancelled", "GreenletExit"};

/* Does what leaves this frame as a StopIteration, or a StopAsyncIteration, come out of it as a RuntimeError? */
static bool is_bug(PyObject *error, int flags) {
    PyTracebackObject *traceback = (PyTracebackObject *)PyException_GetTraceback(error);
    if (!traceback) return false;
    PyCodeObject *code = PyFrame_GetCode(traceback->tb_frame);
    bool found = code->co_flags & flags;
    Py_DECREF(code);
    Py_DECREF(traceback);
    return found;
}

static bool is_end(PyObject *error, PyObject *of, int flags) {
    return PyType_IsSubtype(Py_TYPE(error), (PyTypeObject *)of) && !is_bug(error, flags);
}

/* FINISHED: an iterator is at its end, or a generator is closed. */
enum end { FAILED, CANCELLED, FINISHED };

/* How the exception ends the call. Runs no Python code. */
static enum end end_of(PyObject *error) {
    PyTypeObject *type = Py_TYPE(error);
    if (PyType_IsSubtype(type, (PyTypeObject *)PyExc_Exception)) {
        bool finished = is_end(error, PyExc_StopIteration, CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR) ||
                        is_end(error, PyExc_StopAsyncIteration, CO_ASYNC_GENERATOR);
        return finished ? FINISHED : FAILED;
    }
    if (!PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException)) return FAILED;
    for (; type; type = type->tp_base) {
        if (type == (PyTypeObject *)PyExc_GeneratorExit) return FINISHED;
        for (size_t number = 0; number < sizeof endings / sizeof *endings; number++) {
            const char *dot = strrchr(type->tp_name, '.');
            if (!strcmp(dot ? dot + 1 : type->tp_name, endings[number])) return CANCELLED;
        }
    }
    return FAILED;
}

uint64_t ended(uint64_t word, PyObject *error) {
    if (!error) return word;
    enum end end = end_of(error);
    if (end != FINISHED) exception_record(error, "raised");
    return end == FAILED ? word : word - KIND_UNWIND + KIND_EXIT;
}
