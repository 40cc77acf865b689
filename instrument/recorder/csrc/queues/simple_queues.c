#include "queues/simple_queues.h"

#include <stdbool.h>
#include <stdint.h>

#include "facts/waits.h"
#include "hooks/methods.h"
#include "hooks/operands.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

#define SPARE_ENVELOPES 64

struct envelope {
    PyObject_HEAD
    PyObject *item; /* Owned */
    uint64_t key;
};

static struct {
    bool watched;
    uint64_t put_site, get_site;
    uint32_t channel;
    PyTypeObject *type; /* Owned */
    allocfunc alloc;
    destructor dealloc;
    struct patched put, put_nowait, get, get_nowait;
    PyCFunction empty;
    PyObject *Empty;                         /* Owned: what a get raises when its time is over */
    struct table numbers;                    /* keys of queues that were waited for */
    struct table known;                      /* queues whose gets are all ours, and whose items have no edges of their own */
    struct envelope *spare[SPARE_ENVELOPES]; /* Owned, without an item */
    uint32_t spares;
} simple;

static void envelope_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    Py_CLEAR(((struct envelope *)object)->item);
    if (simple.spares < SPARE_ENVELOPES) simple.spare[simple.spares++] = (struct envelope *)object;
    else PyObject_GC_Del(object);
}

static int envelope_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((struct envelope *)object)->item);
    return 0;
}

static int envelope_clear(PyObject *object) {
    Py_CLEAR(((struct envelope *)object)->item);
    return 0;
}

PyTypeObject envelope_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Envelope",
    .tp_basicsize = sizeof(struct envelope),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = envelope_dealloc,
    .tp_traverse = envelope_traverse,
    .tp_clear = envelope_clear,
};

static PyObject *envelope_make(PyObject *item, uint64_t key) {
    struct envelope *envelope;
    if (simple.spares) envelope = (struct envelope *)PyObject_Init((PyObject *)simple.spare[--simple.spares], &envelope_type);
    else if (!(envelope = PyObject_GC_New(struct envelope, &envelope_type))) return NULL;
    envelope->item = Py_NewRef(item);
    envelope->key = key;
    PyObject_GC_Track(envelope);
    return (PyObject *)envelope;
}

/* The number of the argument that is the item; -1 without one. */
static Py_ssize_t item_argument(Py_ssize_t count, PyObject *names) {
    if (count) return 0;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "item") == 0) return i;
    return -1;
}

static PyObject *simple_puts(const struct patched *patched, PyObject *queue, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names) {
    PyObject *changed[4];
    Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0), item = item_argument(count, names);
    if (!store.active || item < 0 || all > 4 || !table_find(&simple.known, queue))
        return call_original(patched, queue, arguments, count, names);
    uint64_t key = key_fresh();
    PyObject *envelope = envelope_make(arguments[item], key);
    if (!envelope) return NULL;
    put_keyed(keyed_word(KIND_SEND, simple.put_site), key, simple.channel, 0);
    for (Py_ssize_t i = 0; i < all; i++) changed[i] = i == item ? envelope : arguments[i];
    PyObject *result = call_original(patched, queue, changed, count, names);
    Py_DECREF(envelope);
    return result;
}

/* The queue holds the item or its envelope. */
static PyObject *simple_got(PyObject *found) {
    if (!found || !Py_IS_TYPE(found, &envelope_type)) return found;
    struct envelope *envelope = (struct envelope *)found;
    PyObject *item = Py_NewRef(envelope->item ? envelope->item : Py_None);
    if (store.active) put_keyed(keyed_word(KIND_RECEIVE, simple.get_site), envelope->key, simple.channel, 0);
    Py_DECREF(found);
    return item;
}

#define PUTTING(name)                                                                                                \
    static PyObject *simple_##name(PyObject *queue, PyObject *const *arguments, Py_ssize_t count, PyObject *names) { \
        return simple_puts(&simple.name, queue, arguments, count, names);                                            \
    }
/* Is there nothing in the queue? Its own method, not a subclass's. */
static bool simple_is_empty(PyObject *queue) {
    PyObject *empty = simple.empty(queue, NULL);
    bool result = empty == Py_True;
    Py_XDECREF(empty);
    PyErr_Clear();
    return result;
}

/* The arguments of a get that may block. False when it may not, or when they are wrong. */
static bool simple_blocks(PyObject *const *arguments, Py_ssize_t count, PyObject *names, double *limit) {
    PyObject *block = count > 0 ? arguments[0] : NULL, *timeout = count > 1 ? arguments[1] : NULL;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        *(PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "block") ? &timeout : &block) = arguments[count + i];
    *limit = limit_seconds(timeout);
    return (!block || block == Py_True) && count <= 2 && *limit != 0 && (!timeout || timeout == Py_None || *limit > 0);
}

/* A get that waits for an item. It returns the item, or raises `queue.Empty` when its time is over. */
static PyObject *simple_waits(PyObject *queue, PyObject *const *arguments, Py_ssize_t count, PyObject *names, double limit) {
    struct beside *place = table_find(&simple.numbers, queue);
    if (!place && (place = table_add(&simple.numbers, queue))) place->key = key_fresh();
    struct wait wait = wait_tell(simple.channel, place ? place->key : 0, limit, 0, NULL, "", 0);
    PyObject *found = call_original(&simple.get, queue, arguments, count, names);
    wait_over(&wait, found ? "" : PyErr_ExceptionMatches(simple.Empty) ? "timeout" : "failed");
    return found;
}

static PyObject *simple_get(PyObject *queue, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    double limit;
    if (store.active && simple_is_empty(queue) && simple_blocks(arguments, count, names, &limit))
        return simple_got(simple_waits(queue, arguments, count, names, limit));
    return simple_got(call_original(&simple.get, queue, arguments, count, names));
}

#define GETTING(name)                                                                                                \
    static PyObject *simple_##name(PyObject *queue, PyObject *const *arguments, Py_ssize_t count, PyObject *names) { \
        return simple_got(call_original(&simple.name, queue, arguments, count, names));                              \
    }
PUTTING(put)
PUTTING(put_nowait)
GETTING(get_nowait)

static PyObject *simple_alloc(PyTypeObject *type, Py_ssize_t count) {
    PyObject *queue = simple.alloc(type, count);
    if (queue) table_add(&simple.known, queue);
    return queue;
}

static void simple_dealloc(PyObject *queue) {
    table_forget(&simple.known, queue);
    table_forget(&simple.numbers, queue);
    simple.dealloc(queue);
}

PyObject *core_watch_simple_queues(PyObject *module, PyObject *arguments) {
    PyObject *object, *Empty;
    unsigned int channel, put, get;
    if (!PyArg_ParseTuple(arguments, "O!OIII:watch_simple_queues", &PyType_Type, &object, &Empty, &channel, &put, &get))
        return NULL;
    PyTypeObject *type = (PyTypeObject *)object;
    if (simple.watched) Py_RETURN_NONE;
    simple.empty = plain_method(type, "empty");
    if (!simple.empty) return NULL;
    simple.watched = true;
    simple.Empty = Py_NewRef(Empty);
    simple.channel = channel;
    simple.put_site = put;
    simple.get_site = get;
    simple.type = (PyTypeObject *)Py_NewRef(object);
    /* The gets are replaced first, so they recognise envelopes before a put stores one. */
    bool patched = patch_method(type, "get", &simple.get, simple_get) &&
                   patch_method(type, "get_nowait", &simple.get_nowait, simple_get_nowait) &&
                   patch_method(type, "put", &simple.put, simple_put) &&
                   patch_method(type, "put_nowait", &simple.put_nowait, simple_put_nowait);
    PyType_Modified(type);
    if (!patched) return NULL;
    simple.alloc = type->tp_alloc;
    simple.dealloc = type->tp_dealloc;
    type->tp_alloc = simple_alloc;
    type->tp_dealloc = simple_dealloc;
    Py_RETURN_NONE;
}

PyObject *core_ignore_simple_queue(PyObject *module, PyObject *queue) {
    table_forget(&simple.known, queue);
    Py_RETURN_NONE;
}
