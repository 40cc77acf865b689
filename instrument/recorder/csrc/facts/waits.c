#include "facts/waits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "facts/object_identity.h"
#include "facts/stack_numbers.h"
#include "hooks/operands.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

#define FULL_TEXTS 256u /* in a window; the others have one frame for each holder */
#define WINDOW_NS 200000000u

static PyObject *rules; /* Owned: {(file, qualified name): (channel, names of the object, …, describe, plain), or None} */
static struct table lock_numbers; /* by lock; `key` is its number */
static __thread bool busy __attribute__((tls_model("initial-exec")));
static struct {
    uint64_t began;
    uint32_t count;
} window;

/* Keys */

uint64_t lock_key(PyObject *lock) {
    struct beside *place = table_find(&lock_numbers, lock);
    if (!place && (place = table_add(&lock_numbers, lock))) place->key = number_fresh();
    return place ? key_of_number(place->key) : 0;
}

void lock_key_forget(const PyObject *lock) {
    if (UNLIKELY(lock_numbers.used)) table_forget(&lock_numbers, lock);
}

/* Texts */

struct text {
    size_t used;
    char at[MAX_TEXT];
};

static void add(struct text *text, const char *bytes, size_t length) {
    if (length > sizeof text->at - text->used) return;
    memcpy(text->at + text->used, bytes, length);
    text->used += length;
}

static void add_number(struct text *text, const char *name, unsigned long long number) {
    char field[64];
    if (number) add(text, field, (size_t)snprintf(field, sizeof field, "\"%s\":%llu,", name, number));
}

static void add_limit(struct text *text, double limit) {
    if (!(limit >= 0) || !isfinite(limit)) return;
    char *number = PyOS_double_to_string(limit, 'r', 0, 0, NULL);
    if (number) {
        add(text, "\"limit\":", 8);
        add(text, number, strlen(number));
        add(text, ",", 1);
        PyMem_Free(number);
    }
    PyErr_Clear();
}

/* Whether there is room in the trace for a holder's whole stack: a program may wait a hundred thousand times a second. */
static bool in_full(void) {
    uint64_t time = now();
    if (clock_ns(time - window.began) > WINDOW_NS) {
        window.began = time;
        window.count = 0;
    }
    return window.count++ < FULL_TEXTS;
}

struct wait wait_tell(uint32_t channel, uint64_t key, double limit, uint32_t waiters, const struct holder *holder,
                      const char *fields, size_t length) {
    struct wait wait = {0};
    if (busy || !key || !store.active) return wait;
    PyObject *type, *value, *traceback;
    PyThreadState *state = PyThreadState_Get();
    PyErr_Fetch(&type, &value, &traceback);
    busy = true;
    PyThreadState_EnterTracing(state); /* a new line's site is found by Python code */
    struct call_stack stack;
    stack_capture_whole(&stack);
    struct text text = {.used = 1, .at = "{"};
    add_limit(&text, limit);
    add_number(&text, "waiters", waiters);
    add(&text, fields, length);
    size_t stack_size = stack_fields(&stack, text.at + text.used - 1, sizeof text.at - text.used);
    if (stack_size) {
        text.at[0] = '{'; /* for the first comma */
        text.used += stack_size - 1;
        add(&text, ",", 1);
    }
    if (holder && text.used + 300 < sizeof text.at) {
        size_t before = text.used;
        add(&text, "\"holders\":[", 11);
        size_t written = holder_json(holder, in_full() ? NOTED_FRAMES : 1, text.at + text.used, sizeof text.at - text.used - 3);
        text.used += written;
        add(&text, "],", 2);
        if (!written) text.used = before;
    }
    text.at[text.used > 1 ? text.used - 1 : text.used++] = '}';
    PyThreadState_LeaveTracing(state);
    busy = false;
    wait.epoch = store.epoch;
    if (store.active) {
        wait.key = key;
        wait.channel = channel;
        wait.site = stack.site;
        put_extended(KIND_WAIT, stack.site, key, channel, text.at, text.used, 0);
    }
    PyErr_Restore(type, value, traceback);
    return wait;
}

void wait_over(const struct wait *wait, const char *end) {
    if (!wait->channel || !store.active || wait->epoch != store.epoch) return;
    char text[32];
    size_t length = *end ? (size_t)snprintf(text, sizeof text, "{\"end\":\"%.16s\"}", end) : 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    put_extended(KIND_WAKE, wait->site, wait->key, wait->channel, text, length, 0);
    PyErr_Restore(type, value, traceback);
}

const char *wait_end(const PyObject *result) { return !result ? "failed" : result == Py_False ? "timeout" : ""; }

double limit_seconds(PyObject *limit) {
    double seconds = NO_LIMIT;
    if (limit && PyFloat_Check(limit)) seconds = PyFloat_AS_DOUBLE(limit);
    else if (limit && PyLong_Check(limit)) seconds = PyLong_AsDouble(limit);
    PyErr_Clear();
    return seconds >= 0 ? seconds : NO_LIMIT;
}

/* Waits inside the standard library */

/* A new reference to a local of a frame, or NULL without an error. */
static PyObject *local_of(PyFrameObject *frame, PyObject *name) {
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *value = PyFrame_GetVar(frame, name);
#else
    PyObject *locals = PyFrame_GetLocals(frame);
    PyObject *value = locals ? Py_XNewRef(PyDict_GetItemWithError(locals, name)) : NULL;
    Py_XDECREF(locals);
#endif
    PyErr_Clear();
    return value;
}

/* The number of other threads that wait by the condition whose wait the frame is; 0 in any other frame. */
static uint32_t others_in(PyFrameObject *frame) {
    PyObject *self_name = PyUnicode_InternFromString("self"), *waiters_name = PyUnicode_InternFromString("_waiters");
    PyObject *object = self_name ? local_of(frame, self_name) : NULL;
    PyObject *locks = object && waiters_name ? stored_in(object, waiters_name) : NULL;
    Py_ssize_t count = locks && !strcmp(Py_TYPE(locks)->tp_name, "collections.deque") ? PyObject_Size(locks) : 0;
    Py_XDECREF(locks);
    Py_XDECREF(object);
    Py_XDECREF(self_name);
    Py_XDECREF(waiters_name);
    PyErr_Clear();
    return count > 1 ? (uint32_t)count - 1 : 0;
}

static PyObject *rule_of(PyFrameObject *frame) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *name = PyTuple_Pack(2, code->co_filename, code->co_qualname);
    PyObject *rule = name ? PyDict_GetItemWithError(rules, name) : NULL;
    Py_XDECREF(name);
    Py_DECREF(code);
    PyErr_Clear();
    return rule;
}

static bool tell_by_rule(struct wait *wait, PyFrameObject *frame, PyObject *rule, double limit, uint32_t others) {
    unsigned int channel;
    PyObject *subject_name, *limit_name, *capacity_name, *describe;
    int plain;
    if (!PyArg_ParseTuple(rule, "IUUUOp", &channel, &subject_name, &limit_name, &capacity_name, &describe, &plain))
        return false;
    if (!channel) return true;
    PyObject *subject = local_of(frame, subject_name), *time = local_of(frame, limit_name), *fields = NULL;
    if (time) limit = time == Py_None ? NO_LIMIT : limit_seconds(time);
    uint64_t key = 0;
    struct text text = {.used = 0};
    if (subject && describe != Py_None && !busy) {
        /* It gives the key, further fields, and perhaps another channel. */
        PyThreadState *state = PyThreadState_Get();
        busy = true;
        PyThreadState_EnterTracing(state);
        fields = PyObject_CallOneArg(describe, subject);
        PyThreadState_LeaveTracing(state);
        busy = false;
        unsigned long long number;
        const char *bytes;
        Py_ssize_t length;
        if (fields && PyArg_ParseTuple(fields, "Ky#|I", &number, &bytes, &length, &channel)) {
            key = number;
            add(&text, bytes, (size_t)length);
        }
        if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt(); /* the program's */
    } else if (subject) {
        key = object_key(subject);
        add_number(&text, "capacity", slots_of(subject, PyUnicode_GET_LENGTH(capacity_name) ? capacity_name : NULL));
    }
    PyErr_Clear();
    *wait = wait_tell(channel, key, limit, others, NULL, text.at, text.used);
    Py_XDECREF(fields);
    Py_XDECREF(subject);
    Py_XDECREF(time);
    return true;
}

bool wait_tell_caller(struct wait *wait, double limit, bool plain) {
    if (!rules || busy) return false;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef(PyEval_GetFrame()), *last = NULL;
    PyObject *rule, *outer = NULL;
    uint32_t others = 0;
    while (frame && (rule = rule_of(frame))) {
        if (rule != Py_None) { /* else the function passes on the wait of its caller */
            if (!outer && plain && !PyObject_IsTrue(PyTuple_GET_ITEM(rule, PyTuple_GET_SIZE(rule) - 1))) break;
            if (!outer) others = others_in(frame);
            outer = rule;
            Py_XSETREF(last, (PyFrameObject *)Py_NewRef(frame));
        }
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    bool found = outer && tell_by_rule(wait, last, outer, limit, others);
    Py_XDECREF(last);
    Py_XDECREF(frame);
    PyErr_Restore(type, value, traceback);
    return found;
}

/* watch_waits(rules): see `rules`; they may be added to later. */
PyObject *core_watch_waits(PyObject *module, PyObject *given) {
    if (!PyDict_CheckExact(given)) return PyErr_Format(PyExc_TypeError, "watch_waits() takes a dict");
    Py_XSETREF(rules, Py_NewRef(given));
    Py_RETURN_NONE;
}

/* wait(channel, key, limit, fields): returns what `wake` needs, or None. */
PyObject *core_wait(PyObject *module, PyObject *arguments) {
    unsigned int channel;
    unsigned long long key;
    PyObject *limit;
    const char *fields;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "IKOy#:wait", &channel, &key, &limit, &fields, &length)) return NULL;
    struct wait wait = wait_tell(channel, key, limit_seconds(limit), 0, NULL, fields, (size_t)length);
    if (!wait.channel) Py_RETURN_NONE;
    return Py_BuildValue("KIKK", (unsigned long long)wait.key, wait.channel, (unsigned long long)wait.epoch,
                         (unsigned long long)wait.site);
}

PyObject *core_wake(PyObject *module, PyObject *arguments) {
    unsigned long long key, epoch, site;
    unsigned int channel;
    const char *end;
    if (!PyArg_ParseTuple(arguments, "(KIKK)s:wake", &key, &channel, &epoch, &site, &end)) return NULL;
    wait_over(&(struct wait){.key = key, .epoch = epoch, .site = site, .channel = channel}, end);
    Py_RETURN_NONE;
}
