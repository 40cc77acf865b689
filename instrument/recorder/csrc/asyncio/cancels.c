#include "asyncio/cancels.h"

#include <stdbool.h>
#include <stdio.h>

#include "asyncio/handles.h"
#include "asyncio/strands.h"
#include "facts/exceptions.h"
#include "facts/stack.h"
#include "facts/stack_numbers.h"
#include "store/records.h"
#include "store/thread_definition.h"
#include "trace_format.h"

#define CANCEL_TEXT (STACK_TEXT + 2048)

static struct {
    uint32_t task;      /* the channel of a plain `Task.cancel` */
    PyObject *redacted; /* Owned: redacted(str) -> str, for messages */
} cancels;

/* On whose behalf cancellations are asked for in a call under way on this thread. */
static __thread struct asking {
    uint32_t channel; /* 0: nobody's but the caller's */
    bool deadline;
    uint64_t site, by; /* `by` asks for each task only once, unless it is 0 */
    uint64_t owner;    /* the key of the task that entered the scope that asks, or 0 */
} asking;
static __thread int passing_on;
/* The same for the next request of one future. */
static __thread struct {
    PyObject *future; /* Borrowed, only to compare */
    struct asking asking;
} expected;

void cancel_passed_on(int by) { passing_on += by; }

static size_t put_text(const char *name, PyObject *value, char *out, size_t room) {
    char escaped[1024];
    Py_ssize_t bytes;
    const char *utf8 = value && PyUnicode_CheckExact(value) ? PyUnicode_AsUTF8AndSize(value, &bytes) : NULL;
    PyErr_Clear();
    if (!utf8) return 0;
    if (bytes > 400) {
        bytes = 400;
        while (bytes && ((unsigned char)utf8[bytes] & 0xC0) == 0x80) bytes--; /* whole characters */
    }
    size_t size = json_escape(escaped, sizeof escaped, utf8, (size_t)bytes);
    int written = snprintf(out, room, ",\"%s\":\"%.*s\"", name, (int)size, escaped);
    return written > 0 && (size_t)written < room ? (size_t)written : 0;
}

/* Does a timer's callback ask, with no line of the program's own in between? */
static bool timer_asks(const struct call_stack *stack) {
    if (stack->origin == PROGRAM || !runs || !runs->depth || runs->depth > MAX_RUNS) return false;
    return runs->run[runs->depth - 1].timer;
}

static bool write_cancel(uint64_t key, PyObject *name, bool accepted, PyObject *message, uint32_t channel, bool by_adapter,
                         const struct asking *behalf) {
    char text[CANCEL_TEXT];
    size_t used = 0;
    struct call_stack stack;
    stack_capture(&stack);
    struct asking asking = *behalf;
    bool deadline = asking.channel ? asking.deadline : !by_adapter && timer_asks(&stack);
    if (message && PyUnicode_CheckExact(message) && cancels.redacted) {
        PyObject *shown = PyObject_CallOneArg(cancels.redacted, message);
        used += put_text("message", shown, text, sizeof text);
        Py_XDECREF(shown);
        PyErr_Clear();
    }
    used += put_text("target", name, text + used, sizeof text - used);
    if (deadline) used += (size_t)snprintf(text + used, sizeof text - used, ",\"deadline\":true");
    if (asking.owner && asking.owner == key) used += (size_t)snprintf(text + used, sizeof text - used, ",\"own\":true");
    if (!accepted) used += (size_t)snprintf(text + used, sizeof text - used, ",\"accepted\":false");
    used += stack_fields(&stack, text + used, sizeof text - used - 1);
    if (used) {
        text[0] = '{';
        text[used++] = '}';
    }
    uint64_t site = stack.origin != PROGRAM && asking.site ? asking.site : stack.site;
    exception_handled();
    put_extended(KIND_CANCEL, site, key, asking.channel && !by_adapter ? asking.channel : channel, text, used, 0);
    return deadline;
}

static PyObject *message_of(PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (count > 0) return arguments[0];
    return names && PyTuple_GET_SIZE(names) == 1 ? arguments[count] : NULL;
}

static bool is_done(PyObject *future) {
    PyObject *done = aio.done(future, NULL);
    Py_XDECREF(done);
    if (!done) PyErr_Clear();
    return done != Py_False;
}

bool cancel_is_made(PyObject *future) {
    PyObject *loop = PyObject_GetAttrString(future, "_loop");
    Py_XDECREF(loop);
    PyErr_Clear();
    return loop && loop != Py_None;
}

static struct asking asking_for(PyObject *future) {
    if (LIKELY(expected.future != future)) return asking;
    expected.future = NULL;
    return expected.asking;
}

void cancel_task(PyObject *task, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    bool made = cancels.task && (table_find(&strands, task) || cancel_is_made(task));
    struct beside *strand = made ? strand_of(task) : NULL;
    struct asking behalf = asking_for(task);
    if (!strand || (behalf.by && strand->cancelled_by == behalf.by)) return;
    uint64_t key = strand->key;
    bool accepted = !is_done(task);
    PyObject *name = aio.get_name(task, NULL);
    PyErr_Clear();
    bool deadline = write_cancel(key, name, accepted, message_of(arguments, count, names), cancels.task, false, &behalf);
    Py_XDECREF(name);
    strand = table_find(&strands, task);
    if (!strand || !accepted) return;
    strand->timed_out = deadline;
    strand->asked = true;
    strand->cancelled_by = behalf.by;
}

void cancel_future(PyObject *future, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (!cancels.task || passing_on || is_done(future) || !cancel_is_made(future)) return;
    struct asking behalf = asking_for(future);
    PyObject *name = PyType_GetName(Py_TYPE(future));
    write_cancel(0, name, true, message_of(arguments, count, names), cancels.task, false, &behalf);
    Py_XDECREF(name);
    PyErr_Clear();
}

/* watch_cancels(channel, redacted) */
PyObject *core_watch_cancels(PyObject *module, PyObject *arguments) {
    PyObject *redacted;
    unsigned int task;
    if (!PyArg_ParseTuple(arguments, "IO:watch_cancels", &task, &redacted)) return NULL;
    Py_XSETREF(cancels.redacted, Py_NewRef(redacted));
    cancels.task = task;
    Py_RETURN_NONE;
}

PyObject *core_asking(PyObject *module, PyObject *arguments) {
    struct asking old = asking, new = {0};
    int deadline;
    unsigned long long site, by, owner;
    if (!PyArg_ParseTuple(arguments, "IKpKK:asking", &new.channel, &site, &deadline, &by, &owner)) return NULL;
    new.site = site;
    new.by = by;
    new.owner = owner;
    new.deadline = deadline;
    asking = new;
    return Py_BuildValue("IKOKK", old.channel, (unsigned long long)old.site, old.deadline ? Py_True : Py_False,
                         (unsigned long long)old.by, (unsigned long long)old.owner);
}

PyObject *core_asking_once(PyObject *module, PyObject *arguments) {
    int deadline;
    unsigned int channel;
    PyObject *future;
    if (!PyArg_ParseTuple(arguments, "OIp:asking_once", &future, &channel, &deadline)) return NULL;
    expected.future = future;
    expected.asking = (struct asking){.channel = channel, .deadline = deadline};
    Py_RETURN_NONE;
}

PyObject *core_cancel_asked(PyObject *module, PyObject *arguments) {
    unsigned long long key;
    unsigned int channel;
    int accepted;
    PyObject *name, *message;
    if (!PyArg_ParseTuple(arguments, "KIOpO:cancel_asked", &key, &channel, &name, &accepted, &message)) return NULL;
    if (store.active) write_cancel(key, name, accepted, message, channel, true, &asking);
    Py_RETURN_NONE;
}
