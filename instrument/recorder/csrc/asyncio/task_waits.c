#include "asyncio/task_waits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "asyncio/handles.h"
#include "facts/code_places.h"
#include "facts/exceptions.h"
#include "facts/object_identity.h"
#include "facts/stack.h"
#include "facts/waits.h"
#include "hooks/methods.h"
#include "store/records.h"
#include "store/thread_definition.h"
#include "trace_format.h"

#define WAIT_TEXT (STACK_TEXT + 1024)
#define MOST_CONTEXTS 8
#define MOST_TARGETS 16

static struct table awaited; /* C futures; the key and the channel of a WAIT, and its fields as bytes */

static struct {
    uint32_t task, future, sleep, stream; /* channels */
    getter fut_waiter, must_cancel, exception, result;
    PyCFunction cancelled, cancelling;
    PyTypeObject *cancelled_error; /* Owned */
    PyObject *describe;            /* Owned: describe(future) -> bytes, the fields for a future of a subclass */
    PyObject *limit;               /* Owned: limit(task) -> float | None, of the blocks that the task runs in */
} waits;

static __thread struct {
    PyObject *function, *fields; /* Owned: the name of the function that will await a new future, and what it waits for */
} next;

static getter getter_of(PyTypeObject *type, const char *name) {
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    getter get = found && Py_IS_TYPE(found, &PyGetSetDescr_Type) ? ((PyGetSetDescrObject *)found)->d_getset->get : NULL;
    Py_XDECREF(found);
    PyErr_Clear();
    return get;
}

static inline bool is_true(PyObject *value) {
    bool yes = value == Py_True;
    Py_XDECREF(value);
    if (UNLIKELY(!value)) PyErr_Clear();
    return yes;
}

static inline bool is_none(PyObject *value) {
    bool yes = value == Py_None;
    Py_XDECREF(value);
    if (UNLIKELY(!value)) PyErr_Clear();
    return yes;
}

static inline bool is_future(PyObject *object) { return PyObject_TypeCheck(object, aio.future) || is_native(object); }

void wait_forget(const PyObject *future) {
    if (awaited.used) Py_XDECREF(table_forget(&awaited, future).coroutine);
}

static struct {
    PyObject *channel, *maxsize; /* Owned: names of attributes */
} names;

static bool names_known(void) {
    if (names.maxsize) return true;
    names.channel = PyUnicode_InternFromString("_clew_channel");
    names.maxsize = PyUnicode_InternFromString("_maxsize");
    PyErr_Clear();
    return names.channel && names.maxsize;
}

static struct beside *about_future(PyObject *future, uint64_t key, uint32_t channel, PyObject *fields) {
    struct beside *about = table_find(&awaited, future);
    if (!about) about = table_add(&awaited, future);
    if (!about) return NULL;
    about->key = key ? key : key_fresh();
    about->channel = channel;
    about->timed_out = false;
    Py_XSETREF(about->coroutine, Py_XNewRef(fields));
    return about;
}

/* What the function that awaits this future has announced. */
static COLD void take_announced(PyObject *future) {
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    if (code && !PyUnicode_Compare(code->co_name, next.function) && Py_IS_TYPE(future, aio.future))
        about_future(future, 0, waits.future, next.fields);
    Py_XDECREF(code);
    Py_CLEAR(next.function);
    Py_CLEAR(next.fields);
}

/* Is a CancelledError handled by an `except`, a `finally` or a `with` on the stack? */
static COLD bool handles_cancellation(void) {
    PyObject *handled = PyErr_GetHandledException();
    bool found = false;
    for (int depth = 0; depth < MOST_CONTEXTS && handled && PyExceptionInstance_Check(handled) && !found; depth++) {
        found = PyType_IsSubtype(Py_TYPE(handled), waits.cancelled_error);
        Py_SETREF(handled, PyException_GetContext(handled));
    }
    Py_XDECREF(handled);
    return found;
}

void wait_awaited(PyObject *future) {
    struct runs *here = runs;
    if (!here || !here->depth || here->depth > MAX_RUNS || !here->run[here->depth - 1].task || !waits.fut_waiter) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    stack_capture(&here->stack);
    here->awaited = future;
    struct beside *strand = table_find(&strands, here->run[here->depth - 1].task);
    here->owner = code_self();
    here->handling = strand && UNLIKELY(strand->asked) && handles_cancellation();
    if (UNLIKELY(next.function)) take_announced(future);
    PyErr_Restore(type, value, traceback);
}

static size_t put_name(PyObject *task, char *out, size_t room) {
    char escaped[256];
    Py_ssize_t bytes;
    PyObject *name = aio.get_name(task, NULL);
    const char *utf8 = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &bytes) : NULL;
    size_t size = utf8 ? json_escape(escaped, sizeof escaped, utf8, (size_t)bytes) : 0;
    Py_XDECREF(name);
    PyErr_Clear();
    if (size + 11 > room) return 0;
    memcpy(out, ",\"name\":\"", 9);
    memcpy(out + 9, escaped, size);
    out[9 + size] = '"';
    return size + 10;
}

static size_t put_target(PyObject *task, char *out, size_t room) {
    struct beside *target = store.active ? strand_of(task) : NULL;
    if (!target) return 0;
    size_t used = put_number(",\"target\":", target->key, out);
    return used + put_name(task, out + used, room - used);
}

static size_t put_limit(PyObject *task, char *out, size_t room) {
    PyObject *limit = waits.limit ? PyObject_CallOneArg(waits.limit, task) : NULL;
    double seconds = limit && PyFloat_Check(limit) ? PyFloat_AS_DOUBLE(limit) : NAN;
    Py_XDECREF(limit);
    PyErr_Clear();
    if (!isfinite(seconds)) return 0;
    int written = snprintf(out, room, ",\"limit\":%.4g", seconds < 0 ? 0 : seconds);
    return written > 0 && (size_t)written < room ? (size_t)written : 0;
}

/* How many requests to cancel itself the task neither took back nor will get at once. */
static COLD size_t put_cancelling(PyObject *task, struct beside *strand, bool handling, char *out, size_t room) {
    PyObject *number = waits.cancelling ? waits.cancelling(task, NULL) : NULL;
    long count = number && PyLong_CheckExact(number) ? PyLong_AsLong(number) : 0;
    Py_XDECREF(number);
    PyErr_Clear();
    if (count <= 0) strand->asked = false;
    if (count <= 0 || is_true(waits.must_cancel(task, NULL))) return 0;
    int written = snprintf(out, room, ",\"cancelling\":%ld%s", count, handling ? ",\"handling\":true" : "");
    return written > 0 && (size_t)written < room ? (size_t)written : 0;
}

static size_t put_bytes(PyObject *fields, char *out, size_t room) {
    size_t size = fields && PyBytes_Check(fields) ? (size_t)PyBytes_GET_SIZE(fields) : 0;
    if (!size || size + 1 >= room) return 0;
    out[0] = ',';
    memcpy(out + 1, PyBytes_AS_STRING(fields), size);
    return size + 1;
}

/* Learns what to tell of a future that is awaited for the first time. */
static struct beside *learn(PyObject *future, uint8_t innermost) {
    PyObject *fields = Py_IS_TYPE(future, aio.future) || !waits.describe ? NULL : PyObject_CallOneArg(waits.describe, future);
    PyErr_Clear();
    uint32_t channel = innermost == IN_SLEEP ? waits.sleep : innermost == IN_STREAM ? waits.stream : waits.future;
    struct beside *about = about_future(future, 0, channel, fields);
    Py_XDECREF(fields);
    return about;
}

static void write_wait(PyObject *task, PyObject *future, const struct call_stack *stack, const void *owner, bool handling) {
    char text[WAIT_TEXT];
    size_t used = 0;
    uint64_t key = 0;
    uint32_t channel = waits.future;
    PyObject *fields = NULL;
    struct beside *about = is_future(future) ? table_find(&awaited, future) : NULL;
    if (!about && is_native(future)) {
        struct beside *target = strand_of(future);
        key = target ? target->key : 0;
        channel = waits.task;
        used = put_target(future, text, sizeof text);
    } else {
        if (!about && is_future(future)) about = learn(future, stack->innermost);
        if (about) {
            key = about->key;
            channel = about->channel;
            fields = Py_XNewRef(about->coroutine);
        }
    }
    if (!key) key = key_fresh();
    used += put_bytes(fields, text + used, sizeof text - STACK_TEXT - used);
    if (fields && PyBytes_Check(fields) && strstr(PyBytes_AS_STRING(fields), "\"target")) channel = waits.task;
    Py_XDECREF(fields);
    if (owner && channel == waits.future) used += put_number(",\"owner\":", (uint32_t)((uintptr_t)owner >> 4), text + used);
    struct beside *strand = table_find(&strands, task);
    if (strand && UNLIKELY(strand->asked))
        used += put_cancelling(task, strand, handling, text + used, sizeof text - STACK_TEXT - used);
    if (strand && strand->limited) used += put_limit(task, text + used, sizeof text - STACK_TEXT - used);
    used += stack_fields(stack, text + used, sizeof text - used - 1);
    if (used) {
        text[0] = '{'; /* for the first comma */
        text[used++] = '}';
    }
    uint64_t site = stack->site ? stack->site : aio.run_site;
    strand = table_find(&strands, task);
    if (!strand || strand->epoch != store.epoch) return;
    strand->wait_key = key;
    strand->wait_site = site;
    strand->channel = channel;
    put_extended(KIND_WAIT, site, key, channel, text, used, 0);
}

void task_wait_begin(PyObject *task) {
    struct runs *here = runs;
    if (UNLIKELY(!waits.fut_waiter)) return;
    PyObject *future = waits.fut_waiter(task, NULL);
    if (LIKELY(future == Py_None) || !future) {
        Py_XDECREF(future);
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    struct call_stack none = {.origin = CLEW};
    bool known = here && here->awaited == future;
    write_wait(task, future, known ? &here->stack : &none, known ? here->owner : NULL, !known || here->handling);
    if (here) here->awaited = NULL;
    Py_CLEAR(next.function);
    Py_CLEAR(next.fields);
    Py_DECREF(future);
    PyErr_Restore(type, value, traceback);
}

void task_wait_end(PyObject *task, const struct beside *was, PyObject *waking) {
    static const char cancelled[] = "{\"end\":\"cancelled\"}", timeout[] = "{\"end\":\"timeout\"}",
                      failed[] = "{\"end\":\"failed\"}";
    static const char given[] = "{\"end\":\"cancelled\",\"given\":true}", late[] = "{\"end\":\"timeout\",\"given\":true}";
    static const char given_none[] = "{\"end\":\"cancelled\",\"given\":true,\"empty\":true}",
                      late_none[] = "{\"end\":\"timeout\",\"given\":true,\"empty\":true}";
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const char *text = "";
    bool known = waking && is_future(waking);
    if (is_true(waits.must_cancel(task, NULL))) {
        bool finished = known && !is_true(waits.cancelled(waking, NULL));
        bool empty = finished && is_none(waits.result(waking, NULL)) && is_none(waits.exception(waking, NULL));
        if (finished) text = was->timed_out ? (empty ? late_none : late) : empty ? given_none : given;
        else text = was->timed_out ? timeout : cancelled;
    } else if (known && is_true(waits.cancelled(waking, NULL))) {
        text = was->timed_out ? timeout : cancelled;
    } else if (known) {
        struct beside *about = table_find(&awaited, waking);
        PyObject *exception = waits.exception(waking, NULL);
        if (about && about->timed_out) text = timeout;
        else if (exception && exception != Py_None) text = failed;
        Py_XDECREF(exception);
    }
    PyErr_Clear();
    struct beside *strand = table_find(&strands, task);
    if (strand) {
        strand->channel = 0;
        if (*text) strand->timed_out = false;
    }
    put_extended(KIND_WAKE, was->wait_site, was->wait_key, was->channel, text, strlen(text), 0);
    PyErr_Restore(type, value, traceback);
}

void task_ended(PyObject *task, uint64_t key) {
    char text[64];
    if (UNLIKELY(!waits.cancelled)) return;
    if (is_true(waits.cancelled(task, NULL))) {
        put_extended(KIND_ENDED, aio.run_site, key, waits.task, "{\"end\":\"cancelled\"}", 19, 0);
        return;
    }
    PyObject *exception = waits.exception(task, NULL);
    if (exception && exception != Py_None) {
        uint64_t recorded = exception_record(exception, "ended");
        int written = snprintf(text, sizeof text, "{\"end\":\"failed\",\"exception\":%llu}", (unsigned long long)recorded);
        put_extended(KIND_ENDED, aio.run_site, key, waits.task, text, recorded && written > 0 ? (size_t)written : 0, 0);
    }
    Py_XDECREF(exception);
    PyErr_Clear();
}

void task_dropped(uint64_t key) {
    if (waits.cancelled) put_extended(KIND_ENDED, aio.run_site, key, waits.task, "{\"end\":\"pending\"}", 17, 0);
}

/* ---- What futures stand for ---- */

/* A future that `owner` has made for a task that is to wait for it. */
static int act_block(struct operand *operand, PyObject *future, PyObject *owner) {
    if (!store.active || !waits.fut_waiter || !Py_IS_TYPE(future, aio.future) || !names_known()) return 0;
    PyObject *fields = NULL;
    uint64_t key = object_key(owner);
    if (key) {
        PyObject *others = stored_in(owner, operand->attribute), *marked = stored_in(owner, names.channel);
        Py_ssize_t waiters =
            others && Py_TYPE(others)->tp_as_sequence && Py_TYPE(others)->tp_as_sequence->sq_length ? PyObject_Size(others) : 0;
        uint64_t capacity = slots_of(owner, names.maxsize);
        uint32_t channel = marked && PyLong_CheckExact(marked) ? (uint32_t)PyLong_AsUnsignedLongMask(marked) : operand->channel;
        Py_XDECREF(marked);
        Py_XDECREF(others);
        if (waiters > 0 && capacity) fields = PyBytes_FromFormat("\"waiters\":%zd,\"capacity\":%zu", waiters, (size_t)capacity);
        else if (waiters > 0) fields = PyBytes_FromFormat("\"waiters\":%zd", waiters);
        else if (capacity) fields = PyBytes_FromFormat("\"capacity\":%zu", (size_t)capacity);
        about_future(future, key, channel, fields);
    }
    Py_XDECREF(fields);
    PyErr_Clear();
    return 0;
}

/* blocking(channel, waiters): the operand of a new future and the object that a task is to wait for. */
PyObject *core_blocking(PyObject *module, PyObject *arguments) {
    unsigned int channel;
    PyObject *waiters;
    if (!PyArg_ParseTuple(arguments, "IU:blocking", &channel, &waiters)) return NULL;
    struct operand *operand = (struct operand *)operand_make(act_block, 0, channel, 0);
    if (operand) operand->attribute = Py_NewRef(waiters);
    return (PyObject *)operand;
}

/* ---- Holders ---- */

static PyObject *acquire_name; /* Owned */

/* Whether a method `acquire…` of the same file called this one: it takes a slot in its own name, or gives one back that it
 * did not keep. */
static bool called_by_acquire(void) {
    PyFrameObject *frame = PyEval_GetFrame(), *back = frame ? PyFrame_GetBack(frame) : NULL;
    if (!back) return false;
    PyCodeObject *code = PyFrame_GetCode(frame), *caller = PyFrame_GetCode(back);
    bool inner = (code->co_filename == caller->co_filename || !PyUnicode_Compare(code->co_filename, caller->co_filename)) &&
                 caller->co_flags & CO_COROUTINE &&
                 PyUnicode_Tailmatch(caller->co_name, acquire_name, 0, PY_SSIZE_T_MAX, -1) == 1;
    Py_DECREF(code);
    Py_DECREF(caller);
    Py_DECREF(back);
    PyErr_Clear();
    return inner;
}

static int act_hold(struct operand *operand, PyObject *object, PyObject *other) {
    if (!store.active || (operand->wanted && called_by_acquire())) return 0;
    char capacity[48];
    uint64_t key = object_key(object);
    if (!key) return 0;
    uint64_t slots = operand->attribute ? slots_of(object, operand->attribute) : 0;
    if (!slots && operand->counted) return 0;
    size_t used = slots ? put_number(",\"capacity\":", slots, capacity) : 0;
    stack_hold(operand->word, key, operand->channel, capacity, used);
    return 0;
}

/* `other` is the number of slots, NULL for one. */
static int act_return(struct operand *operand, PyObject *object, PyObject *other) {
    if (!store.active || (operand->wanted && called_by_acquire())) return 0;
    if (operand->attribute) {
        PyObject *value = PyObject_GenericGetAttr(object, operand->attribute);
        if (!is_true(value)) return 0; /* an error of the program: it does not hold the lock */
    }
    if (operand->counted && !slots_of(object, NULL)) return 0;
    uint64_t key = object_key(object);
    long slots = other && PyLong_CheckExact(other) ? PyLong_AsLong(other) : 1;
    PyErr_Clear();
    for (; key && slots > 0; slots--) put_keyed(operand->word, key, operand->channel, 0);
    return 0;
}

/* holding(channel, capacity, release_site, held, inner, counted): the operands for taking and for giving back. */
PyObject *core_holding(PyObject *module, PyObject *arguments) {
    unsigned int channel, site;
    const char *capacity, *held;
    int inner = 0, counted = 0;
    if (!PyArg_ParseTuple(arguments, "IzIz|pp:holding", &channel, &capacity, &site, &held, &inner, &counted)) return NULL;
    if (!acquire_name && !(acquire_name = PyUnicode_InternFromString("acquire"))) return NULL;
    struct operand *take = (struct operand *)operand_make(act_hold, site, channel, 0);
    struct operand *give = (struct operand *)operand_make(act_return, keyed_word(KIND_RETURN, site), channel, 0);
    if (take && capacity) take->attribute = PyUnicode_InternFromString(capacity);
    if (give && held) give->attribute = PyUnicode_InternFromString(held);
    if (take && give) {
        take->wanted = give->wanted = inner;
        take->counted = give->counted = counted;
    }
    return Py_BuildValue("NN", take, give);
}

/* ---- Calls of the adapters ---- */

PyObject *core_watch_task_waits(PyObject *module, PyObject *arguments) {
    PyObject *timer, *describe, *limit, *cancelled_error;
    unsigned int task, future, sleep, stream;
    if (!PyArg_ParseTuple(arguments, "O!IIIIOOO!:watch_task_waits", &PyType_Type, &timer, &task, &future, &sleep, &stream,
                          &describe, &limit, &PyType_Type, &cancelled_error))
        return NULL;
    if (!aio.future || !aio.task) Py_RETURN_FALSE;
    getter fut_waiter = getter_of(aio.task, "_fut_waiter");
    waits.must_cancel = getter_of(aio.task, "_must_cancel");
    waits.exception = getter_of(aio.future, "_exception");
    waits.result = getter_of(aio.future, "_result");
    waits.cancelled = plain_method(aio.future, "cancelled");
    PyErr_Clear();
    waits.cancelling = plain_method(aio.task, "cancelling");
    PyErr_Clear();
    if (!fut_waiter || !waits.must_cancel || !waits.exception || !waits.result || !waits.cancelled) {
        waits.cancelled = NULL;
        Py_RETURN_FALSE;
    }
    waits.task = task;
    waits.future = future;
    waits.sleep = sleep;
    waits.stream = stream;
    Py_XSETREF(waits.describe, Py_NewRef(describe));
    Py_XSETREF(waits.limit, Py_NewRef(limit));
    Py_XSETREF(waits.cancelled_error, (PyTypeObject *)Py_NewRef(cancelled_error));
    Py_XSETREF(aio.timer, (PyTypeObject *)Py_NewRef(timer));
    waits.fut_waiter = fut_waiter;
    Py_RETURN_TRUE;
}

PyObject *core_await_about(PyObject *module, PyObject *arguments) {
    PyObject *future, *fields;
    unsigned long long key;
    unsigned int channel;
    if (!PyArg_ParseTuple(arguments, "OKIS:await_about", &future, &key, &channel, &fields)) return NULL;
    if (waits.fut_waiter && store.active && is_future(future)) about_future(future, key, channel, fields);
    Py_RETURN_NONE;
}

PyObject *core_await_next(PyObject *module, PyObject *arguments) {
    PyObject *function, *fields;
    if (!PyArg_ParseTuple(arguments, "US:await_next", &function, &fields)) return NULL;
    Py_XSETREF(next.function, Py_NewRef(function));
    Py_XSETREF(next.fields, Py_NewRef(fields));
    Py_RETURN_NONE;
}

/* ends_of(futures, limit): the fields of a wait for the ends of futures; only of those that are tasks and run. */
PyObject *core_ends_of(PyObject *module, PyObject *arguments) {
    PyObject *futures, *limit = Py_None, *future, *tasks[MOST_TARGETS];
    char text[1024];
    size_t used = 0;
    int count = 0;
    if (!PyArg_ParseTuple(arguments, "O|O:ends_of", &futures, &limit)) return NULL;
    PyObject *each = PyObject_GetIter(futures);
    while (each && count < MOST_TARGETS && (future = PyIter_Next(each))) {
        if (is_native(future) && !is_true(aio.done(future, NULL))) tasks[count++] = future;
        else Py_DECREF(future);
    }
    Py_XDECREF(each);
    if (count == 1) used = put_target(tasks[0], text, sizeof text);
    for (int i = 0; i < count; i++) {
        struct beside *target = count > 1 && store.active ? strand_of(tasks[i]) : NULL;
        if (count > 1)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%llu%s", i ? "," : ",\"targets\":[",
                                     target ? (unsigned long long)target->key : 0, i == count - 1 ? "]" : "");
        Py_DECREF(tasks[i]);
    }
    if (PyErr_Occurred()) return NULL;
    double seconds = PyFloat_CheckExact(limit) || PyLong_CheckExact(limit) ? limit_seconds(limit) : NO_LIMIT;
    char *number = seconds > 0 && isfinite(seconds) ? PyOS_double_to_string(seconds, 'r', 0, 0, NULL) : NULL;
    if (number) used += (size_t)snprintf(text + used, sizeof text - used, ",\"limit\":%s", number);
    PyMem_Free(number);
    return PyBytes_FromStringAndSize(text + (used > 0), (Py_ssize_t)used - (used > 0));
}

PyObject *core_wait_timed_out(PyObject *module, PyObject *future) {
    struct beside *about = table_find(&awaited, future);
    if (about) about->timed_out = true;
    Py_RETURN_NONE;
}

PyObject *core_strand_key(PyObject *module, PyObject *task) {
    struct beside *strand = store.active && is_native(task) ? strand_of(task) : NULL;
    return PyLong_FromUnsignedLongLong(strand ? strand->key : 0);
}

PyObject *core_limit_task(PyObject *module, PyObject *arguments) {
    PyObject *task;
    int limited;
    if (!PyArg_ParseTuple(arguments, "Op:limit_task", &task, &limited)) return NULL;
    struct beside *strand = store.active && is_native(task) ? strand_of(task) : NULL;
    if (strand) strand->limited = limited;
    Py_RETURN_NONE;
}
