/* Follow every instruction of chosen functions, and write what each pushed onto the value stack: a value trace.
 *
 * The format is that of `records/values/trace_format.py`. Records are written in the order of execution, which the GIL gives.
 * Invariant: the program never sees an error of this file. Whatever fails ends the recording, with a reason. */
#include "followed.h"
#include "stack.h"
#include "writer.h"

#include <string.h>
#include <time.h>

#define UNIT 2 /* bytes of a code unit */

enum Flag { READS_CELL = 1, YIELDS = 2 };

#define MOST_PUSHED 4096

static struct {
    int is_open;
    uint64_t opcodes, most_opcodes;
    double end; /* on the monotonic clock */
} state;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static int32_t thread_of(PyObject *follower);

static int32_t find_parent(PyFrameObject *frame, int32_t *is_direct) {
    int skipped = 0;
    *is_direct = 0;
    for (PyFrameObject *below = caller_with_object(frame, &skipped); below != NULL;
         below = caller_with_object(below, &skipped)) {
        FrameState *found = find_frame(below);
        if (found != NULL) {
            *is_direct = skipped == 0;
            return found->number;
        }
        skipped++;
    }
    return -1;
}

static int set_opcode_events(PyFrameObject *frame, PyObject *follower) {
    PyObject *object = (PyObject *)frame;
#if PY_VERSION_HEX >= 0x030D0000
    /* From 3.13 on, a frame has opcode events only if it also has a trace function, which is not called here. */
    if (PyObject_SetAttrString(object, "f_trace", follower) < 0) {
        PyErr_Clear();
        return cut(FAILED);
    }
#endif
    if (PyObject_SetAttrString(object, "f_trace_opcodes", Py_True) == 0 &&
        PyObject_SetAttrString(object, "f_trace_lines", Py_False) == 0)
        return 0;
    PyErr_Clear();
    return cut(FAILED);
}

static int begin_call(PyFrameObject *frame, CodeEntry *code, PyObject *follower) {
    int32_t thread = thread_of(follower);
    int32_t is_direct, parent = find_parent(frame, &is_direct);
    FrameState *found = find_frame(frame);
    if (found != NULL) {
        if (begin_record(RESUME, 4) < 0) return -1;
        put(found->number);
        put(parent);
        put(is_direct);
        put(thread);
        return 0;
    }
    if (set_opcode_events(frame, follower) < 0) return -1;
    found = add_frame(frame, code);
    if (found == NULL) return -1;
    int32_t count = code->parameters;
    int32_t *numbers = PyMem_RawMalloc(((size_t)count + 1) * sizeof *numbers);
    if (numbers == NULL) return cut(MEMORY);
    const char *cells = PyBytes_AS_STRING(code->cells);
    for (int32_t i = 0; i < count; i++) {
        PyObject *value = local_variable(frame, i);
        if (cells[i] && value != NULL && PyCell_Check(value)) value = PyCell_GET(value);
        numbers[i] = number_of(value);
    }
    int32_t globals_number = number_of(global_names(frame));
    int failed = begin_record(CALL, (size_t)count + 6);
    if (!failed) {
        put(found->number);
        put(code->number);
        put(parent);
        put(is_direct);
        put(thread);
        put(globals_number);
        for (int32_t i = 0; i < count; i++) put(numbers[i]);
    }
    PyMem_RawFree(numbers);
    return failed;
}

static int step(PyFrameObject *frame, FrameState *at) {
    CodeEntry *code = at->code;
    int unit = PyFrame_GetLasti(frame) / UNIT;
    if (unit < 0 || (size_t)unit >= (size_t)PyBytes_GET_SIZE(code->places) / sizeof(int32_t)) return cut(FAILED);
    int32_t instruction = ((const int32_t *)PyBytes_AS_STRING(code->places))[unit];
    int depth = ((const int32_t *)PyBytes_AS_STRING(code->depths))[instruction];
    if (depth < 0) return cut(FAILED);
    if (instruction == at->instruction && unit != at->unit && !at->raised)
        return 0; /* EXTENDED_ARG and its instruction are one */
    const uint16_t *pops = (const uint16_t *)PyBytes_AS_STRING(code->pops);
    int pushed = 0;
    if (at->instruction >= 0) {
        pushed = at->raised ? depth : depth - (at->depth - pops[at->instruction]);
        if (at->raised) {
            /* The handler finds the exception on top, and below it where it was raised if that is pushed. */
            pushed = depth < 2 ? depth : 2;
        }
        if (pushed < 0) pushed = 0;
        if (pushed > depth) pushed = depth;
        if (pushed > MOST_PUSHED) return cut(FAILED);
    }
    int32_t few[16], *numbers = few;
    if (pushed > 16 && (numbers = PyMem_RawMalloc((size_t)pushed * sizeof *numbers)) == NULL) return cut(MEMORY);
    for (int i = 0; i < pushed; i++) numbers[i] = number_of(stack_entry(frame, code->code, depth - pushed + i));
    int failed = 0;
    if (PyBytes_AS_STRING(code->flags)[instruction] & READS_CELL) {
        int32_t variable = ((const int32_t *)PyBytes_AS_STRING(code->cell_of))[instruction];
        int32_t cell = variable >= 0 ? number_of(local_variable(frame, variable)) : -1;
        failed = begin_record(CELL, 2);
        if (!failed) {
            put(at->number);
            put(cell);
        }
    }
    if (!failed) failed = begin_record(STEP, (size_t)pushed + 3);
    if (!failed) {
        put(at->number);
        put(instruction);
        put(depth);
        for (int i = 0; i < pushed; i++) put(numbers[i]);
    }
    if (numbers != few) PyMem_RawFree(numbers);
    at->instruction = instruction;
    at->depth = depth;
    at->raised = 0;
    at->unit = unit;
    if (++state.opcodes >= state.most_opcodes) return cut(OPCODES);
    if (!(state.opcodes & 4095) && now() > state.end) return cut(SECONDS);
    return failed;
}

static int end_call(FrameState *at, PyObject *value) {
    int yields = at->instruction >= 0 && PyBytes_AS_STRING(at->code->flags)[at->instruction] & YIELDS;
    int32_t frame = at->number;
    if (value == NULL) {
        remove_frame(at);
        if (begin_record(UNWIND, 1) < 0) return -1;
        put(frame);
        return 0;
    }
    int32_t number = number_of(value);
    if (begin_record(yields ? YIELD : RETURN, 2) < 0) return -1;
    put(frame);
    put(number);
    if (!yields) remove_frame(at);
    return 0;
}

static int raise(FrameState *at, PyObject *argument) {
    PyObject *exception = PyTuple_Check(argument) && PyTuple_GET_SIZE(argument) == 3 ? PyTuple_GET_ITEM(argument, 1) : NULL;
    int32_t number = number_of(exception);
    if (begin_record(RAISE, 2) < 0) return -1;
    put(at->number);
    put(number);
    at->raised = 1;
    return 0;
}

static int on_event(PyObject *follower, PyFrameObject *frame, int what, PyObject *argument) {
    if (!state.is_open || writer.reason) return 0;
    int failed = 0;
    if (what == PyTrace_OPCODE) {
        FrameState *at = find_frame(frame);
        if (at != NULL) failed = step(frame, at);
    } else if (what == PyTrace_CALL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        CodeEntry *entry = find_code(code);
        Py_DECREF(code);
        if (entry != NULL && entry->number >= 0) failed = begin_call(frame, entry, follower);
    } else if (what == PyTrace_RETURN || what == PyTrace_EXCEPTION) {
        FrameState *at = find_frame(frame);
        if (at != NULL) failed = what == PyTrace_RETURN ? end_call(at, argument) : raise(at, argument);
    }
    (void)failed;
    return 0;
}

/* begin(fd, describe, deque, most_opcodes, most_bytes, seconds) */
static PyObject *begin(PyObject *module, PyObject *args) {
    int fd;
    PyObject *describe, *deque;
    unsigned long long most_opcodes, most_bytes;
    double seconds;
    if (!PyArg_ParseTuple(args, "iOO!KKd:begin", &fd, &describe, &PyType_Type, &deque, &most_opcodes, &most_bytes, &seconds))
        return NULL;
    if (state.is_open) {
        PyErr_SetString(PyExc_RuntimeError, "a value trace is being recorded already");
        return NULL;
    }
    memset(&state, 0, sizeof state);
    if (followed_open(describe) < 0) return PyErr_NoMemory();
    if (writer_open(fd, (PyTypeObject *)deque, most_bytes) < 0) {
        followed_close();
        return PyErr_NoMemory();
    }
    state.most_opcodes = most_opcodes;
    state.end = now() + seconds;
    state.is_open = 1;
    Py_RETURN_NONE;
}

/* What `sys.gettrace()` returns in a followed thread. A program that saves it and sets it again by `sys.settrace` calls it at
 * its next call: following goes on, unless a followed call was under way and lost instructions. */
typedef struct {
    PyObject_HEAD
    int32_t thread;
} Follower;

static PyObject *follower_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyFrameObject *frame;
    PyObject *event, *argument;
    if (!PyArg_ParseTuple(args, "O!OO", &PyFrame_Type, &frame, &event, &argument)) return NULL;
    int32_t is_direct;
    if (state.is_open && !writer.reason) {
        if (find_parent(frame, &is_direct) >= 0) cut(OTHER_TRACER);
        else {
            PyEval_SetTrace(on_event, self);
            if (PyUnicode_CompareWithASCIIString(event, "call") == 0) on_event(self, frame, PyTrace_CALL, argument);
        }
    }
    return Py_NewRef(self);
}

static void follower_free(PyObject *self) { PyObject_Free(self); }

static PyTypeObject FollowerType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.values._steps.Follower",
    .tp_basicsize = sizeof(Follower),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_call = follower_call,
    .tp_dealloc = follower_free,
};

static int32_t thread_of(PyObject *follower) { return ((Follower *)follower)->thread; }

/* follow(thread): follow the calling thread from now on, under this number. */
static PyObject *follow(PyObject *module, PyObject *argument) {
    long thread = PyLong_AsLong(argument);
    if (thread == -1 && PyErr_Occurred()) return NULL;
    Follower *self = PyObject_New(Follower, &FollowerType);
    if (self == NULL) return NULL;
    self->thread = (int32_t)thread;
    if (state.is_open && !writer.reason) PyEval_SetTrace(on_event, (PyObject *)self);
    Py_DECREF(self);
    Py_RETURN_NONE;
}

/* unfollow() -> whether the thread was followed until now. */
static PyObject *unfollow(PyObject *module, PyObject *ignored) {
    int was = PyThreadState_Get()->c_tracefunc == on_event;
    if (was) PyEval_SetTrace(NULL, NULL);
    return PyBool_FromLong(was);
}

/* number(object) -> its number; -1 if it was never seen. It does not make it known. */
static PyObject *number(PyObject *module, PyObject *object) {
    if (!state.is_open) return PyLong_FromLong(-1);
    int is_new;
    int32_t found = object_number(&writer.objects, object, &is_new);
    return found == -2 ? PyErr_NoMemory() : PyLong_FromLong(found);
}

/* objects(first) -> (objects, types) from a number on; None in place of an object that is not kept. */
static PyObject *objects(PyObject *module, PyObject *argument) {
    long first = PyLong_AsLong(argument);
    if (first == -1 && PyErr_Occurred()) return NULL;
    int32_t count = state.is_open ? writer.objects.count : 0;
    Py_ssize_t size = first < count ? count - first : 0;
    PyObject *found = PyList_New(size), *kept = PyList_New(size), *types = PyList_New(size);
    if (found == NULL || kept == NULL || types == NULL) {
        Py_XDECREF(found);
        Py_XDECREF(kept);
        Py_XDECREF(types);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *one = writer.objects.kept[first + i];
        PyList_SET_ITEM(found, i, Py_NewRef(one == NULL ? Py_None : one));
        PyList_SET_ITEM(kept, i, PyBool_FromLong(one != NULL));
        PyList_SET_ITEM(types, i, Py_NewRef((PyObject *)writer.objects.types[first + i]));
    }
    return Py_BuildValue("(NNN)", found, kept, types);
}

/* flush() -> (opcodes, reason): write what is buffered. Nothing is recorded afterwards. */
static PyObject *flush(PyObject *module, PyObject *ignored) {
    if (!state.is_open) return Py_BuildValue("(Ki)", 0ULL, 0);
    int reason = (int)writer.reason;
    if (reason != DISK) {
        if (reason && begin_record(CUT, 1) == 0) put(reason);
        flush_words();
        reason = (int)writer.reason;
    }
    if (!writer.reason) writer.reason = FAILED; /* closes the recording */
    return Py_BuildValue("(Ki)", (unsigned long long)state.opcodes, reason);
}

static PyObject *end(PyObject *module, PyObject *ignored) {
    if (!state.is_open) Py_RETURN_NONE;
    state.is_open = 0;
    followed_close();
    writer_close();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"begin", begin, METH_VARARGS, NULL},      {"follow", follow, METH_O, NULL},
    {"unfollow", unfollow, METH_NOARGS, NULL}, {"number", number, METH_O, NULL},
    {"objects", objects, METH_O, NULL},        {"flush", flush, METH_NOARGS, NULL},
    {"end", end, METH_NOARGS, NULL},           {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_steps", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__steps(void) {
    if (PyType_Ready(&FollowerType) < 0) return NULL;
    return PyModule_Create(&definition);
}
