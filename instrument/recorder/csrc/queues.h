/* Queues in C: which put an item that a get hands out came from, and whose work a `join` waited for.
 *
 * A queue has a ledger of what it holds, in its `_clew_ledger`: for FIFO and LIFO queues the items' places, whose identity is
 * checked, for any other order the items' addresses (an item in a queue lives). Invariants: everything that touches a
 * ledger runs where the queue's own lock is held, or on its loop; what came or went another way has no edge. */

#ifndef CLEW_QUEUES_H
#define CLEW_QUEUES_H

#include "operands.h"

#define FAMILIES 4u
#define SHRINK_ABOVE 1024u

enum order { ORDER_FIFO, ORDER_LIFO, ORDER_OTHER };

/* `queue.Queue` and its subclasses, or asyncio's. */
static struct family {
    PyObject *fifo, *lifo, *heap;            /* Owned: the classes whose order is known */
    PyObject *store, *size, *unfinished;     /* Owned: names of attributes: what holds the items, their number, what is not done */
    uint32_t channel;
    uint64_t put_site, get_site, done_site, join_site;
} families[FAMILIES];
static uint32_t family_count;
static PyObject *ledger_name; /* Owned */
static PyObject *put_name, *get_name; /* Owned */

struct entry {
    PyObject *item; /* Borrowed: it lives in the queue; only ever compared */
    uint64_t key;
    size_t next;    /* in its bucket, from 1, for any other order */
};

struct ledger {
    PyObject_HEAD
    PyObject *queue; /* Borrowed: whose ledger it is; that of a copied queue is not the copy's */
    PyObject *store; /* Owned: what held the items when it was last asked */
    enum order order;
    bool direct;     /* the number of items is `len(store)` */
    Py_ssize_t count, strangers; /* items in the queue; those of them that nothing is known of */
    struct entry *entry;
    size_t room, first, used;    /* a ring; for any other order a list of free entries starts at `first` (from 1) */
    size_t *bucket;              /* `room` of them, for any other order */
    uint64_t counted, done;      /* keys of the last `task_done`, and of the last one that left nothing to do; or 0 */
};

static void ledger_dealloc(PyObject *object) {
    struct ledger *ledger = (struct ledger *)object;
    PyObject_GC_UnTrack(object);
    Py_XDECREF(ledger->store);
    free(ledger->entry);
    free(ledger->bucket);
    PyObject_GC_Del(object);
}

static int ledger_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((struct ledger *)object)->store);
    return 0;
}

static int ledger_clear(PyObject *object) {
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

static PyTypeObject ledger_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Ledger",
    .tp_basicsize = sizeof(struct ledger),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = ledger_dealloc,
    .tp_traverse = ledger_traverse,
    .tp_clear = ledger_clear,
    .tp_methods = ledger_methods,
};

/* Knows nothing of the `count` items that the queue holds: they came, or others went, by another way. */
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
    if (ledger->bucket)
        memset(ledger->bucket, 0, ledger->room * sizeof *ledger->bucket);
}

static inline size_t ledger_bucket(const struct ledger *ledger, const PyObject *item) {
    return (size_t)(((uintptr_t)item >> 4) * 0x9E3779B97F4A7C15u >> 20) & (ledger->room - 1);
}

/* Appends entry `index` to its bucket: the oldest of one item goes first. */
static void bucket_append(struct ledger *ledger, size_t index) {
    size_t *link = &ledger->bucket[ledger_bucket(ledger, ledger->entry[index].item)];
    while (*link)
        link = &ledger->entry[*link - 1].next;
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
    for (size_t i = 0; bucket && i < ledger->used; i++)
        bucket_append(ledger, i);
    return true;
}

/* Notes an item that is in the queue now. False when there is no memory for that. */
static bool ledger_add(struct ledger *ledger, PyObject *item, uint64_t key) {
    if (ledger->used == ledger->room && !(ledger->order == ORDER_OTHER && ledger->first) && !ledger_grow(ledger))
        return false;
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
        if (index == ledger->used)
            ledger->used++;
    } else {
        ledger->used++;
    }
    ledger->count++;
    return true;
}

/* The key of an item that has left a queue of any other order, 0 when it is not known. */
static uint64_t take_anywhere(struct ledger *ledger, PyObject *item, uint32_t *flags) {
    size_t *link = ledger->room ? &ledger->bucket[ledger_bucket(ledger, item)] : NULL;
    while (link && *link && ledger->entry[*link - 1].item != item)
        link = &ledger->entry[*link - 1].next;
    if (!link || !*link)
        return 0;
    size_t found = *link;
    uint64_t key = ledger->entry[found - 1].key;
    *link = ledger->entry[found - 1].next;
    for (size_t other = *link; other; other = ledger->entry[other - 1].next)
        if (ledger->entry[other - 1].item == item)
            *flags = FLAG_AMBIGUOUS;
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
            if (strangers_first)
                ledger->first = (ledger->first + 1) & (ledger->room - 1);
        }
    }
    if (key) {
        if (!ledger->count && ledger->room > SHRINK_ABOVE)
            ledger_reset(ledger, 0);
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

/* The number of items in the queue; -1 and an error when it can't be told. */
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
        Py_DECREF(ledger); /* the queue has it now, or nobody */
        if (failed < 0)
            ledger = NULL;
    }
    if (!ledger)
        PyErr_Clear();
    return ledger;
}

/* Is the number of items what it has to be after one came or went? What held them may have been replaced. */
static bool ledger_agrees(const struct family *family, struct ledger *ledger, PyObject *queue, Py_ssize_t expected,
                          Py_ssize_t *size) {
    *size = ledger->direct && ledger->store ? PyObject_Size(ledger->store) : -1;
    if (*size != expected)
        *size = queue_size(family, queue, ledger->direct, &ledger->store);
    return *size == expected;
}

static int act_queue_put(struct operand *operand, PyObject *queue, PyObject *item) {
    const struct family *family = &families[operand->space];
    if (!store.active)
        return 0;
    struct ledger *ledger = ledger_find(queue);
    if (!ledger && !(ledger = ledger_make(family, queue)))
        return 0;
    Py_ssize_t size;
    if (!ledger_agrees(family, ledger, queue, ledger->count + 1, &size)) {
        /* A queue may refuse an item without a word, one that keeps a set for instance. */
        if (size < 0 || size == ledger->count)
            return drop_error();
        bool made = ledger->count < 0, known = ledger->order != ORDER_OTHER || made;
        ledger_reset(ledger, known && size ? size - 1 : size);
        if (!known || !size)
            return 0;
    }
    uint64_t key = key_fresh();
    if (!ledger_add(ledger, item, key))
        ledger_reset(ledger, size);
    else
        put_keyed(operand->word, key, operand->channel, 0);
    return 0;
}

static int act_queue_get(struct operand *operand, PyObject *queue, PyObject *item) {
    const struct family *family = &families[operand->space];
    struct ledger *ledger = store.active ? ledger_find(queue) : NULL;
    if (!ledger || ledger->count < 0)
        return 0;
    Py_ssize_t size;
    uint32_t flags = 0;
    if (!ledger_agrees(family, ledger, queue, ledger->count - 1, &size)) {
        ledger_reset(ledger, size < 0 ? 0 : size);
        return drop_error();
    }
    uint64_t key = ledger_take(ledger, item, &flags);
    if (key)
        put_keyed(operand->word, key, operand->channel, flags);
    return 0;
}

/* `task_done`: a small scope of its own gathers those before it, so that no worker depends on another. */
static int act_queue_done(struct operand *operand, PyObject *queue, PyObject *other) {
    const struct family *family = &families[operand->space];
    struct ledger *ledger = store.active ? ledger_find(queue) : NULL;
    if (!ledger)
        return 0;
    PyObject *unfinished = PyObject_GenericGetAttr(queue, family->unfinished);
    bool nothing_left = unfinished && PyObject_Not(unfinished) == 1;
    Py_XDECREF(unfinished);
    PyErr_Clear();
    uint64_t site = family->done_site, cause = key_fresh(), before = ledger->counted;
    ledger->counted = ledger->counted ? ledger->counted : key_fresh();
    if (nothing_left && !ledger->done)
        ledger->done = key_fresh();
    put_keyed(keyed_word(KIND_SEND, site), cause, operand->channel, 0);
    put_keyed(keyed_word(KIND_SCOPE_BEGIN, site), cause, operand->channel, 0);
    if (before)
        put_keyed(keyed_word(KIND_ACQUIRE, site), ledger->counted, operand->channel, 0);
    put_keyed(keyed_word(KIND_RELEASE, site), ledger->counted, operand->channel, 0);
    if (nothing_left)
        put_keyed(keyed_word(KIND_RELEASE, site), ledger->done, operand->channel, 0);
    put_keyed(keyed_word(KIND_SCOPE_END, site), cause, operand->channel, 0);
    return 0;
}

static int act_queue_join(struct operand *operand, PyObject *queue, PyObject *other) {
    struct ledger *ledger = store.active ? ledger_find(queue) : NULL;
    if (ledger && ledger->done)
        put_keyed(operand->word, ledger->done, operand->channel, 0);
    return 0;
}

/* watch_queues(fifo, lifo, heap, store, size, unfinished, channel, done_channel, (put, get, done, join sites)) */
static PyObject *core_watch_queues(PyObject *module, PyObject *arguments) {
    PyObject *fifo, *lifo, *heap, *items, *size, *unfinished;
    unsigned int channel, done_channel, put, get, done, join;
    if (!PyArg_ParseTuple(arguments, "O!O!O!UUUII(IIII):watch_queues", &PyType_Type, &fifo, &PyType_Type, &lifo,
                          &PyType_Type, &heap, &items, &size, &unfinished, &channel, &done_channel, &put, &get, &done,
                          &join))
        return NULL;
    if (family_count == FAMILIES)
        return PyErr_Format(PyExc_ValueError, "there are %u families of queues already", FAMILIES);
    PyObject **names[] = {&ledger_name, &put_name, &get_name};
    const char *texts[] = {"_clew_ledger", "_put", "_get"};
    for (int i = 0; i < 3; i++)
        if (!*names[i] && !(*names[i] = PyUnicode_InternFromString(texts[i])))
            return NULL;
    for (PyObject **name = (PyObject *[]){items, size, unfinished, NULL}; *name; name++)
        Py_INCREF(*name); /* for the family; interned below */
    PyUnicode_InternInPlace(&items);
    PyUnicode_InternInPlace(&size);
    PyUnicode_InternInPlace(&unfinished);
    uint32_t number = family_count++;
    families[number] = (struct family){
        .fifo = Py_NewRef(fifo), .lifo = Py_NewRef(lifo), .heap = Py_NewRef(heap),
        .store = items, .size = size, .unfinished = unfinished, .channel = channel,
        .put_site = put, .get_site = get, .done_site = done, .join_site = join,
    };
    return Py_BuildValue("NNNN", operand_make(act_queue_put, keyed_word(KIND_SEND, put), channel, number),
                         operand_make(act_queue_get, keyed_word(KIND_RECEIVE, get), channel, number),
                         operand_make(act_queue_done, 0, done_channel, number),
                         operand_make(act_queue_join, keyed_word(KIND_ACQUIRE, join), done_channel, number));
}

/* ---- queue.SimpleQueue, a C type: what is in it carries its key. (From 3.13 on a put may hand its item to a thread that
 * waits, which returns later than one that takes the next item, so numbers of puts and gets would not do.) Arguments are
 * handed on as they came, and waiting is the type's own: up to 3.12 a get with a timeout that is let go on, and then finds
 * the item gone and its time over, waits for a negative time, which is forever. That is so without us, too. ---- */

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
    destructor dealloc;
    struct patched put, put_nowait, get, get_nowait;
    struct table ignored; /* queues whose items have edges of their own */
    struct envelope *spare[SPARE_ENVELOPES]; /* Owned, without an item */
    uint32_t spares;
} simple;

static void envelope_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    Py_CLEAR(((struct envelope *)object)->item);
    if (simple.spares < SPARE_ENVELOPES)
        simple.spare[simple.spares++] = (struct envelope *)object;
    else
        PyObject_GC_Del(object);
}

static int envelope_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((struct envelope *)object)->item);
    return 0;
}

static int envelope_clear(PyObject *object) {
    Py_CLEAR(((struct envelope *)object)->item);
    return 0;
}

static PyTypeObject envelope_type = {
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
    if (simple.spares)
        envelope = (struct envelope *)PyObject_Init((PyObject *)simple.spare[--simple.spares], &envelope_type);
    else if (!(envelope = PyObject_GC_New(struct envelope, &envelope_type)))
        return NULL;
    envelope->item = Py_NewRef(item);
    envelope->key = key;
    PyObject_GC_Track(envelope);
    return (PyObject *)envelope;
}

/* Which argument is the item; -1 when there is none. */
static Py_ssize_t item_argument(Py_ssize_t count, PyObject *names) {
    if (count)
        return 0;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "item") == 0)
            return i;
    return -1;
}

static PyObject *simple_puts(const struct patched *patched, PyObject *queue, PyObject *const *arguments,
                             Py_ssize_t count, PyObject *names) {
    PyObject *changed[4];
    Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0), item = item_argument(count, names);
    if (!store.active || item < 0 || all > 4 || table_find(&simple.ignored, queue))
        return call_original(patched, queue, arguments, count, names);
    uint64_t key = key_fresh();
    PyObject *envelope = envelope_make(arguments[item], key);
    if (!envelope)
        return NULL;
    put_keyed(keyed_word(KIND_SEND, simple.put_site), key, simple.channel, 0);
    for (Py_ssize_t i = 0; i < all; i++)
        changed[i] = i == item ? envelope : arguments[i];
    PyObject *result = call_original(patched, queue, changed, count, names);
    Py_DECREF(envelope);
    return result;
}

/* What is in the queue is the item or its envelope. */
static PyObject *simple_got(PyObject *found) {
    if (!found || !Py_IS_TYPE(found, &envelope_type))
        return found;
    struct envelope *envelope = (struct envelope *)found;
    PyObject *item = Py_NewRef(envelope->item ? envelope->item : Py_None);
    if (store.active)
        put_keyed(keyed_word(KIND_RECEIVE, simple.get_site), envelope->key, simple.channel, 0);
    Py_DECREF(found);
    return item;
}

#define PUTTING(name)                                                                                                  \
    static PyObject *simple_##name(PyObject *queue, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {   \
        return simple_puts(&simple.name, queue, arguments, count, names);                                              \
    }
#define GETTING(name)                                                                                                  \
    static PyObject *simple_##name(PyObject *queue, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {   \
        return simple_got(call_original(&simple.name, queue, arguments, count, names));                                \
    }
PUTTING(put)
PUTTING(put_nowait)
GETTING(get)
GETTING(get_nowait)

static void simple_dealloc(PyObject *queue) {
    table_forget(&simple.ignored, queue);
    simple.dealloc(queue);
}

/* watch_simple_queues(type, channel, put_site, get_site) */
static PyObject *core_watch_simple_queues(PyObject *module, PyObject *arguments) {
    PyObject *object;
    unsigned int channel, put, get;
    if (!PyArg_ParseTuple(arguments, "O!III:watch_simple_queues", &PyType_Type, &object, &channel, &put, &get))
        return NULL;
    PyTypeObject *type = (PyTypeObject *)object;
    if (simple.watched)
        Py_RETURN_NONE;
    simple.watched = true;
    simple.channel = channel;
    simple.put_site = put;
    simple.get_site = get;
    simple.type = (PyTypeObject *)Py_NewRef(object);
    simple.dealloc = type->tp_dealloc;
    type->tp_dealloc = simple_dealloc;
    /* What takes items out knows envelopes before anyone puts one in. */
    bool patched = patch_method(type, "get", &simple.get, simple_get) &&
                   patch_method(type, "get_nowait", &simple.get_nowait, simple_get_nowait) &&
                   patch_method(type, "put", &simple.put, simple_put) &&
                   patch_method(type, "put_nowait", &simple.put_nowait, simple_put_nowait);
    PyType_Modified(type);
    if (!patched)
        return NULL;
    Py_RETURN_NONE;
}

/* ignore_simple_queue(queue): its items have edges of their own. */
static PyObject *core_ignore_simple_queue(PyObject *module, PyObject *queue) {
    if (simple.watched && PyObject_TypeCheck(queue, simple.type) && !table_find(&simple.ignored, queue))
        table_add(&simple.ignored, queue);
    Py_RETURN_NONE;
}

#endif
