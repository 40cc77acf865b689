/* Operands: what adapters put into rewritten code of the standard library to record an object without calling Python.
 *
 * `LOAD_CONST operand; LOAD_FAST x; DELETE_SUBSCR` acts on `x`, `LOAD_CONST operand; UNARY_INVERT; POP_TOP` on nothing.
 * The object's address is the key, moved by a random number of its mechanism's own (its *space*). Invariants: acting never
 * raises and leaves no frame; a key is never shared by two mechanisms, nor by a process and its forked child. */

#ifndef CLEW_OPERANDS_H
#define CLEW_OPERANDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "records.h"

#define SPACES 64u
#define KEYED_SIZE (2 * RECORD_SIZE)

static struct {
    uint64_t base[SPACES], last;
    uint32_t spaces;
} keys = {.spaces = 1}; /* space 0 is nobody's */

/* New random numbers, at the start and in every forked child. */
static void keys_renew(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = clock_read(CLOCK_REALTIME) * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid();
    for (uint32_t i = 0; i <= SPACES; i++) {
        uint64_t mixed = seed += 0x9E3779B97F4A7C15u;
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
        *(i < SPACES ? &keys.base[i] : &keys.last) = mixed ^ mixed >> 31;
    }
}

/* A key that no other object of the run has. */
static inline uint64_t key_fresh(void) {
    keys.last += 0x9E3779B97F4A7C15u;
    return keys.last ? keys.last : key_fresh();
}

static inline uint64_t key_in(uint32_t space, const void *object) { return keys.base[space] + (uintptr_t)object; }

/* A space of its own for one mechanism; the last one is shared by those that come too late to get one. */
static uint32_t space_new(void) { return keys.spaces < SPACES ? keys.spaces++ : SPACES - 1; }

/* The word of a record whose extension is one slot: a key, a channel, flags. */
static inline uint64_t keyed_word(uint64_t kind, uint64_t site) { return pack_word(kind, site, 1, 0); }

/* Stores a record with a key: the fast form of `put_extended` for what has no text. */
static inline void put_keyed(uint64_t word, uint64_t key, uint32_t channel, uint32_t flags) {
    if (UNLIKELY((size_t)(self.end - self.cur) < KEYED_SIZE) && !claim())
        return;
    struct record *record = (struct record *)self.cur;
    struct extension *extension = (struct extension *)(record + 1);
    extension->length = 0;
    extension->flags = (uint16_t)flags;
    extension->channel = channel;
    extension->key = key;
    __atomic_store_n(&record->word, word, __ATOMIC_RELAXED);
    __atomic_store_n(&record->ticks, now(), __ATOMIC_RELEASE);
    self.cur = (char *)(record + 2);
}

struct operand {
    PyObject_HEAD
    void (*act)(struct operand *operand, PyObject *object); /* `object` is Borrowed, NULL for `~operand` */
    uint64_t word;
    uint32_t channel, space;
};

static int operand_delete(PyObject *operand, PyObject *object, PyObject *value) {
    if (value) {
        PyErr_SetString(PyExc_TypeError, "an operand acts by `del operand[object]`");
        return -1;
    }
    ((struct operand *)operand)->act((struct operand *)operand, object);
    return 0;
}

static PyObject *operand_invert(PyObject *operand) {
    ((struct operand *)operand)->act((struct operand *)operand, NULL);
    Py_RETURN_NONE;
}

static PyNumberMethods operand_number = {.nb_invert = operand_invert};
static PyMappingMethods operand_mapping = {.mp_ass_subscript = operand_delete};

static void act_put(struct operand *operand, PyObject *object) {
    put_keyed(operand->word, key_in(operand->space, object), operand->channel, 0);
}

static PyTypeObject operand_type;

/* A new reference, or NULL. */
static PyObject *operand_make(void (*act)(struct operand *, PyObject *), uint64_t word, uint32_t channel,
                              uint32_t space) {
    struct operand *operand = PyObject_New(struct operand, &operand_type);
    if (!operand)
        return NULL;
    operand->act = act;
    operand->word = word;
    operand->channel = channel;
    operand->space = space;
    return (PyObject *)operand;
}

static PyObject *operand_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"kind", "site", "channel", "space", NULL};
    unsigned int kind, site, channel, space;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "IIII:Operand", names, &kind, &site, &channel, &space))
        return NULL;
    if (kind == 0 || kind > 255 || space == 0 || space >= keys.spaces)
        return PyErr_Format(PyExc_ValueError, "there is no kind %u or no space %u", kind, space);
    return operand_make(act_put, keyed_word(kind, site), channel, space);
}

static PyTypeObject operand_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Operand",
    .tp_doc = "Operand(kind, site, channel, space): `del operand[object]` records the object.",
    .tp_basicsize = sizeof(struct operand),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = operand_new,
    .tp_as_number = &operand_number,
    .tp_as_mapping = &operand_mapping,
};

#endif
