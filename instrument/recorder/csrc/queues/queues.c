#include "queues/queues.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/operands.h"
#include "queues/returned_items.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

#define FAMILIES 4u
#define SHRINK_ABOVE 1024u

enum order { ORDER_FIFO, ORDER_LIFO, ORDER_OTHER };

/* `queue.Queue` and its subclasses, or asyncio's. */
static struct family {
    PyObject *fifo, *lifo, *heap;        /* Owned: the classes whose order is known */
    PyObject *store, *size, *unfinished; /* Owned: names of attributes: what holds the items, their number, what is not done */
    uint32_t channel;
    uint64_t put_site, get_site, done_site, join_site;
} families[FAMILIES];
static uint32_t family_count;
static PyObject *ledger_name;         /* Owned */
static PyObject *put_name, *get_name; /* Owned */

struct entry {
    PyObject *item; /* Borrowed: it lives in the queue; only ever compared */
    uint64_t key;
    size_t next; /* in its bucket, from 1, for any other order */
};

struct ledger {
    PyObject_HEAD
    PyObject *queue; /* Borrowed: whose ledger it is; that of a copied queue is not the copy's */
    PyObject *store; /* Owned: what held the items when it was last asked */
    enum order order;
    bool direct;                 /* the number of items is `len(store)` */
    bool joins;                  /* a get continues with its previous action */
    Py_ssize_t count, strangers; /* items in the queue; those of them that nothing is known of */
    struct entry *entry;
    size_t room, first, used; /* a ring; for any other order a list of free entries starts at `first` (from 1) */
    size_t *bucket;           /* `room` of them, for any other order */
    struct handed_items handed;
    uint64_t counted, done; /* keys of the last `task_done`, and of the last one that left nothing to do; or 0 */
};

static void ledger_dealloc(PyObject *object) {
    struct ledger *ledger = (struct ledger *)object;
    PyObject_GC_UnTrack(object);
    handed_clear(&ledger->handed);
    Py_XDECREF(ledger->store);
    free(ledger->entry);
    free(ledger->bucket);
    PyObject_GC_Del(object);
}

static int ledger_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((struct ledger *)object)->store);
    return handed_traverse(&((struct ledger *)object)->handed, visit, arg);
}

static int ledger_clear(PyObject *object) {
    handed_clear(&((struct ledger *)object)->handed);
    Py_CLEAR(((struct ledger *)object)->store);
    return 0;
}

/* A copy of a queue has no ledger, and neither has one that was pickled. */
static PyObject *ledger_reduce(PyObject *ledger, PyObject *ignored) {
    return Py_BuildValue("O()", (PyObject *)Py_TYPE(Py_None));
}

static PyMethodDef ledger_methods[] = {
    {"__reduce__", ledger_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject ledger_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Ledger",
    .tp_basicsize = sizeof(struct ledger),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = ledger_dealloc,
    .tp_traverse = ledger_traverse,
    .tp_clear = ledger_clear,
    .tp_methods = ledger_methods,
};

/* Forgets the `count` items that the queue holds: they came, or others left, by another way. */
static void ledger_reset(struct ledger *ledger, Py_ssize_t count) {
    ledger->count = ledger->strangers = count;
    ledger->first = ledger->used = 0;
    if (ledger->used == 0 && ledger->room > SHRINK_ABOVE) {
        free(ledger->entry);
        free(ledger->bucket);
        ledger->entry = NULL;
        ledger->bucket = NULL;
        ledger->room = 0;
    }
    if (ledger->bucket) memset(ledger->bucket, 0, ledger->room * sizeof *ledger->bucket);
}

static inline size_t ledger_bucket(const struct ledger *ledger, const PyObject *item) {
    return (size_t)(((uintptr_t)item >> 4) * 0x9E3779B97F4A7C15u >> 20) & (ledger->room - 1);
}

/* Appends entry `index` to its bucket: the oldest of one item goes first. */
static void bucket_append(struct ledger *ledger, size_t index) {
    size_t *link = &ledger->bucket[ledger_bucket(ledger, ledger->entry[index].item)];
    while (*link) link = &ledger->entry[*link - 1].next;
    ledger->entry[index].next = 0;
    *link = index + 1;
}

static bool ledger_grow(struct ledger *ledger) {
    size_t room = ledger->room ? 2 * ledger->room : 16;
    struct entry *entry = malloc(room * sizeof *entry);
    size_t *bucket = ledger->order == ORDER_OTHER ? calloc(room, sizeof *bucket) : NULL;
    if (!entry || (ledger->order == ORDER_OTHER && !bucket)) {
        free(entry);
        free(bucket);
        return false;
    }
    for (size_t i = 0; i < ledger->used; i++)
        entry[i] = ledger->entry[ledger->order == ORDER_OTHER ? i : (ledger->first + i) & (ledger->room - 1)];
    free(ledger->entry);
    free(ledger->bucket);
    ledger->entry = entry;
    ledger->bucket = bucket;
    ledger->room = room;
    ledger->first = 0;
    for (size_t i = 0; bucket && i < ledger->used; i++) bucket_append(ledger, i);
    return true;
}

/* Notes an item that is in the queue now. False when there is no memory for that. */
static bool ledger_add(struct ledger *ledger, PyObject *item, uint64_t key) {
    if (ledger->used == ledger->room && !(ledger->order == ORDER_OTHER && ledger->first) && !ledger_grow(ledger)) return false;
    size_t index = (ledger->first + ledger->used) & (ledger->room - 1);
    if (ledger->order == ORDER_OTHER) {
        index = ledger->used;
        if (ledger->first) {
            index = ledger->first - 1;
            ledger->first = ledger->entry[index].next;
        }
    }
    ledger->entry[index] = (struct entry){.item = item, .key = key};
    if (ledger->order == ORDER_OTHER) {
        bucket_append(ledger, index);
        if (index == ledger->used) ledger->used++;
    } else {
        ledger->used++;
    }
    ledger->count++;
    return true;
}

/* The key of an item that has left a queue of any other order, 0 when it is not known. */
static uint64_t take_anywhere(struct ledger *ledger, PyObject *item, uint32_t *flags) {
    size_t *link = ledger->room ? &ledger->bucket[ledger_bucket(ledger, item)] : NULL;
    while (link && *link && ledger->entry[*link - 1].item != item) link = &ledger->entry[*link - 1].next;
    if (!link || !*link) return 0;
    size_t found = *link;
    uint64_t key = ledger->entry[found - 1].key;
    *link = ledger->entry[found - 1].next;
    for (size_t other = *link; other; other = ledger->entry[other - 1].next)
        if (ledger->entry[other - 1].item == item) *flags = FLAG_AMBIGUOUS;
    ledger->entry[found - 1].next = ledger->first;
    ledger->first = found;
    return key;
}

static uint64_t ledger_take(struct ledger *ledger, PyObject *item, uint32_t *flags) {
    uint64_t key = 0;
    bool strangers_first = ledger->order == ORDER_FIFO;
    ledger->count--;
    if (ledger->order == ORDER_OTHER) {
        key = take_anywhere(ledger, item, flags);
    } else if (ledger->used && !(strangers_first && ledger->strangers)) {
        size_t last = (ledger->first + ledger->used - 1) & (ledger->room - 1);
        struct entry *entry = &ledger->entry[strangers_first ? ledger->first : last];
        if (entry->item == item) {
            key = entry->key;
            ledger->used--;
            if (strangers_first) ledger->first = (ledger->first + 1) & (ledger->room - 1);
        }
    }
    if (key) {
        if (!ledger->count && ledger->room > SHRINK_ABOVE) ledger_reset(ledger, 0);
    } else if (ledger->strangers && (ledger->order != ORDER_LIFO || !ledger->used)) {
        ledger->strangers--;
    } else {
        /* The queue hands out something else than what was put in: no place or address in here can be trusted. */
        ledger_reset(ledger, ledger->count);
    }
    return key;
}

static bool same_method(PyTypeObject *type, PyObject *known, PyObject *name) {
    return _PyType_Lookup(type, name) == _PyType_Lookup((PyTypeObject *)known, name);
}

static enum order order_of(const struct family *family, PyTypeObject *type, bool *direct) {
    PyObject *known[] = {family->fifo, family->lifo, family->heap};
    for (int i = 0; i < 3; i++)
        if (same_method(type, known[i], put_name) && same_method(type, known[i], get_name)) {
            *direct = same_method(type, known[i], family->size);
            return (enum order)i;
        }
    *direct = false;
    return ORDER_OTHER;
}

/* The number of items in the queue; -1 and an error when it is unknown. */
static Py_ssize_t queue_size(const struct family *family, PyObject *queue, bool direct, PyObject **store) {
    Py_ssize_t size = -1;
    if (direct) {
        Py_XSETREF(*store, PyObject_GenericGetAttr(queue, family->store));
        size = *store ? PyObject_Size(*store) : -1;
    } else {
        PyThreadState *state = PyThreadState_Get();
        PyThreadState_EnterTracing(state); /* it is the program's method, but not the program's call */
        PyObject *number = PyObject_CallMethodNoArgs(queue, family->size);
        PyThreadState_LeaveTracing(state);
        size = number ? PyLong_AsSsize_t(number) : -1;
        Py_XDECREF(number);
    }
    return size;
}

/* The queue's ledger, Borrowed from it, or NULL. */
static struct ledger *ledger_find(PyObject *queue) {
    PyObject *found = PyObject_GenericGetAttr(queue, ledger_name);
    if (!found) {
        PyErr_Clear();
        return NULL;
    }
    Py_DECREF(found);
    struct ledger *ledger = (struct ledger *)found;
    return Py_IS_TYPE(found, &ledger_type) && ledger->queue == queue ? ledger : NULL;
}

static COLD struct ledger *ledger_make(const struct family *family, PyObject *queue) {
    struct ledger *ledger = PyObject_GC_New(struct ledger, &ledger_type);
    if (ledger) {
        memset((char *)ledger + sizeof(PyObject), 0, sizeof *ledger - sizeof(PyObject));
        ledger->queue = queue;
        ledger->order = order_of(family, Py_TYPE(queue), &ledger->direct);
        ledger->count = ledger->strangers = -1;
        PyObject_GC_Track(ledger);
        int failed = PyObject_GenericSetAttr(queue, ledger_name, (PyObject *)ledger);
        Py_DECREF(ledger); /* the queue holds it now, if the put succeeded */
        if (failed < 0) ledger = NULL;
    }
    if (!ledger) PyErr_Clear();
    return ledger;
}

/* Is the number of items as expected after one came or left? The container may have been replaced. */
static bool ledger_agrees(const struct family *family, struct ledger *ledger, PyObject *queue, Py_ssize_t expected,
                          Py_ssize_t *size) {
    *size = ledger->direct && ledger->store ? PyObject_Size(ledger->store) : -1;
    if (*size != expected) *size = queue_size(family, queue, ledger->direct, &ledger->store);
    return *size == expected;
}

static int act_queue_put(struct operand *operand, PyObject *queue, PyObject *item) {
    const struct family *family = &families[operand->space];
    if (!store.active) return 0;
    struct ledger *ledger = ledger_find(queue);
    if (!ledger && !(ledger = ledger_make(family, queue))) return 0;
    Py_ssize_t size;
    if (!ledger_agrees(family, ledger, queue, ledger->count + 1, &size)) {
        /* A queue may refuse an item without a word, one that keeps a set for instance. */
        if (size < 0 || size == ledger->count) return drop_error();
        bool made = ledger->count < 0, known = ledger->order != ORDER_OTHER || made;
        ledger_reset(ledger, known && size ? size - 1 : size);
        if (!known || !size) return 0;
    }
    uint64_t key = key_fresh();
    if (!ledger_add(ledger, item, key)) ledger_reset(ledger, size);
    else put_keyed(operand->word, key, operand->channel, handed_back(&ledger->handed, item) ? FLAG_BACK : 0);
    return 0;
}

static int act_queue_get(struct operand *operand, PyObject *queue, PyObject *item) {
    const struct family *family = &families[operand->space];
    struct ledger *ledger = store.active ? ledger_find(queue) : NULL;
    if (!ledger || ledger->count < 0) return 0;
    Py_ssize_t size;
    uint32_t flags = 0;
    if (!ledger_agrees(family, ledger, queue, ledger->count - 1, &size)) {
        ledger_reset(ledger, size < 0 ? 0 : size);
        return drop_error();
    }
    uint64_t key = ledger_take(ledger, item, &flags);
    handed_out(&ledger->handed, item);
    if (key) put_keyed(ledger->joins ? keyed_word(KIND_JOIN, family->get_site) : operand->word, key, operand->channel, flags);
    return 0;
}

/* `task_done`: a small scope of its own gathers those before it, so that no worker depends on another. */
static int act_queue_done(struct operand *operand, PyObject *queue, PyObject *other) {
    const struct family *family = &families[operand->space];
    struct ledger *ledger = store.active ? ledger_find(queue) : NULL;
    if (!ledger) return 0;
    PyObject *unfinished = PyObject_GenericGetAttr(queue, family->unfinished);
    bool nothing_left = unfinished && PyObject_Not(unfinished) == 1;
    Py_XDECREF(unfinished);
    PyErr_Clear();
    uint64_t site = family->done_site, cause = key_fresh(), before = ledger->counted;
    ledger->counted = ledger->counted ? ledger->counted : key_fresh();
    if (nothing_left && !ledger->done) ledger->done = key_fresh();
    put_keyed(keyed_word(KIND_SEND, site), cause, operand->channel, 0);
    put_keyed_too(keyed_word(KIND_SCOPE_BEGIN, site), cause, operand->channel);
    if (before) put_keyed_too(keyed_word(KIND_ACQUIRE, site), ledger->counted, operand->channel);
    put_keyed_too(keyed_word(KIND_RELEASE, site), ledger->counted, operand->channel);
    if (nothing_left) put_keyed_too(keyed_word(KIND_RELEASE, site), ledger->done, operand->channel);
    put_keyed_too(keyed_word(KIND_SCOPE_END, site), cause, operand->channel);
    return 0;
}

static int act_queue_join(struct operand *operand, PyObject *queue, PyObject *other) {
    struct ledger *ledger = store.active ? ledger_find(queue) : NULL;
    if (ledger && ledger->done) put_keyed(operand->word, ledger->done, operand->channel, 0);
    return 0;
}

PyObject *core_join_items(PyObject *module, PyObject *queue) {
    for (uint32_t i = 0; i < family_count; i++)
        if (PyObject_TypeCheck(queue, (PyTypeObject *)families[i].fifo)) {
            struct ledger *ledger = ledger_make(&families[i], queue);
            if (ledger) ledger->joins = true;
        }
    Py_RETURN_NONE;
}

PyObject *core_watch_queues(PyObject *module, PyObject *arguments) {
    PyObject *fifo, *lifo, *heap, *items, *size, *unfinished;
    unsigned int channel, done_channel, put, get, done, join;
    if (!PyArg_ParseTuple(arguments, "O!O!O!UUUII(IIII):watch_queues", &PyType_Type, &fifo, &PyType_Type, &lifo, &PyType_Type,
                          &heap, &items, &size, &unfinished, &channel, &done_channel, &put, &get, &done, &join))
        return NULL;
    if (family_count == FAMILIES) return PyErr_Format(PyExc_ValueError, "there are %u families of queues already", FAMILIES);
    PyObject **names[] = {&ledger_name, &put_name, &get_name};
    const char *texts[] = {"_clew_ledger", "_put", "_get"};
    for (int i = 0; i < 3; i++)
        if (!*names[i] && !(*names[i] = PyUnicode_InternFromString(texts[i]))) return NULL;
    for (PyObject **name = (PyObject *[]){items, size, unfinished, NULL}; *name; name++)
        Py_INCREF(*name); /* for the family; interned below */
    PyUnicode_InternInPlace(&items);
    PyUnicode_InternInPlace(&size);
    PyUnicode_InternInPlace(&unfinished);
    uint32_t number = family_count++;
    families[number] = (struct family){
        .fifo = Py_NewRef(fifo),
        .lifo = Py_NewRef(lifo),
        .heap = Py_NewRef(heap),
        .store = items,
        .size = size,
        .unfinished = unfinished,
        .channel = channel,
        .put_site = put,
        .get_site = get,
        .done_site = done,
        .join_site = join,
    };
    return Py_BuildValue("NNNN", operand_make(act_queue_put, keyed_word(KIND_SEND, put), channel, number),
                         operand_make(act_queue_get, keyed_word(KIND_RECEIVE, get), channel, number),
                         operand_make(act_queue_done, 0, done_channel, number),
                         operand_make(act_queue_join, keyed_word(KIND_ACQUIRE, join), done_channel, number));
}
