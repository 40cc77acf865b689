/* Operands: objects that adapters put into rewritten code of the standard library to record an object without
 * calling Python.
 *
 * `del operand[x]` acts on `x`, `operand[x] = y` on both, `~operand` on neither: instructions that push nothing. The
 * key is the object's address, shifted by a random number of the mechanism (its *space*). Invariants: an operand
 * never raises and never leaves a frame; two mechanisms never share a key, nor do a process and its forked child. */

#ifndef CLEW_HOOKS_OPERANDS_H
#define CLEW_HOOKS_OPERANDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "hooks/methods.h"
#include "store/records.h"

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

/* There must be room for it. */
static inline void write_keyed(uint64_t ticks, uint64_t word, uint64_t key, uint32_t channel, uint32_t flags) {
    struct record *record = (struct record *)self.cur;
    struct extension *extension = (struct extension *)(record + 1);
    extension->length = 0;
    extension->flags = (uint16_t)flags;
    extension->channel = channel;
    extension->key = key;
    __atomic_store_n(&record->word, word, __ATOMIC_RELAXED);
    __atomic_store_n(&record->ticks, ticks, __ATOMIC_RELEASE);
    self.cur = (char *)(record + 2);
}

/* Stores a record with a key: the fast form of `put_extended` for what has no text. */
static inline void put_keyed(uint64_t word, uint64_t key, uint32_t channel, uint32_t flags) {
    if (UNLIKELY(flows.on) && !flow_admits(word & 0xFF, word >> 32, key, channel)) return;
    if (UNLIKELY((size_t)(self.end - self.cur) < KEYED_SIZE) && !claim()) return;
    write_keyed(now(), word, key, channel, flags);
    if (UNLIKELY(flows.on)) flow_settle();
}

/* Right after `put_keyed`, with nothing in between: of the same instant, which is not asked for again. */
static inline void put_keyed_too(uint64_t word, uint64_t key, uint32_t channel) {
    if (UNLIKELY(flows.on || (size_t)(self.end - self.cur) < KEYED_SIZE)) put_keyed(word, key, channel, 0);
    else write_keyed(((struct record *)(self.cur - KEYED_SIZE))->ticks, word, key, channel, 0);
}

/* ---- What is kept beside an object, by its address, until it is deallocated ---- */

struct beside {
    PyObject *object; /* Borrowed; NULL for a free place */
    uint64_t key, epoch;
    PyObject *coroutine; /* Owned: of a task, its coroutine's name */
    bool cancelled;      /* of a task, by someone whom no handle tells of */
};

/* Open addressing, at most half full. */
struct table {
    struct beside *place; /* Owned */
    size_t mask, used;    /* places - 1 */
};

static inline size_t table_slot(const struct table *table, const PyObject *object) {
    return (size_t)(((uintptr_t)object >> 4) * 0x9E3779B97F4A7C15u >> 20) & table->mask;
}

static inline struct beside *table_find(const struct table *table, const PyObject *object) {
    if (!table->used) return NULL;
    for (size_t i = table_slot(table, object);; i = (i + 1) & table->mask) {
        if (table->place[i].object == object) return &table->place[i];
        if (!table->place[i].object) return NULL;
    }
}

static bool table_grow(struct table *table) {
    struct table grown = {.mask = table->place ? 2 * table->mask + 1 : 63, .used = table->used};
    grown.place = calloc(grown.mask + 1, sizeof *grown.place);
    if (!grown.place) return false;
    for (size_t i = 0; table->place && i <= table->mask; i++)
        if (table->place[i].object) {
            size_t slot = table_slot(&grown, table->place[i].object);
            while (grown.place[slot].object) slot = (slot + 1) & grown.mask;
            grown.place[slot] = table->place[i];
        }
    free(table->place);
    *table = grown;
    return true;
}

/* A new entry, or NULL when there is no memory. Entries move when others come and go. */
static struct beside *table_add(struct table *table, PyObject *object) {
    if ((!table->place || 2 * (table->used + 1) > table->mask) && !table_grow(table)) return NULL;
    size_t slot = table_slot(table, object);
    while (table->place[slot].object) slot = (slot + 1) & table->mask;
    table->used++;
    table->place[slot] = (struct beside){.object = object};
    return &table->place[slot];
}

/* The entry that was there, its object NULL when there was none. */
static struct beside table_forget(struct table *table, const PyObject *object) {
    struct beside *found = table_find(table, object), was = {.object = NULL};
    if (!found) return was;
    was = *found;
    size_t hole = (size_t)(found - table->place);
    for (size_t i = (hole + 1) & table->mask; table->place[i].object; i = (i + 1) & table->mask)
        if (((i - table_slot(table, table->place[i].object)) & table->mask) >= ((i - hole) & table->mask)) {
            table->place[hole] = table->place[i];
            hole = i;
        }
    table->place[hole].object = NULL;
    table->used--;
    return was;
}

/* ---- Operands ---- */

struct operand;
/* Borrowed objects, NULL where there is none. Gives 0, or -1 and an error for an interrupt, which is the program's. */
typedef int (*act_function)(struct operand *operand, PyObject *object, PyObject *other);

struct operand {
    PyObject_HEAD
    act_function act;
    PyObject *attribute; /* Owned; NULL, or the name of what must be true of the object (or false) */
    bool wanted;
    uint64_t word;
    uint32_t channel, space;
};

static int operand_assign(PyObject *operand, PyObject *object, PyObject *other) {
    return ((struct operand *)operand)->act((struct operand *)operand, object, other);
}

static PyObject *operand_invert(PyObject *operand) {
    return ((struct operand *)operand)->act((struct operand *)operand, NULL, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyNumberMethods operand_number = {.nb_invert = operand_invert};
static PyMappingMethods operand_mapping = {.mp_ass_subscript = operand_assign};

static int act_put(struct operand *operand, PyObject *object, PyObject *other) {
    put_keyed(operand->word, key_in(operand->space, object), operand->channel, 0);
    return 0;
}

static PyTypeObject operand_type;

/* A new reference, or NULL. */
static PyObject *operand_make(act_function act, uint64_t word, uint32_t channel, uint32_t space) {
    struct operand *operand = PyObject_New(struct operand, &operand_type);
    if (!operand) return NULL;
    operand->act = act;
    operand->attribute = NULL;
    operand->word = word;
    operand->channel = channel;
    operand->space = space;
    return (PyObject *)operand;
}

static int act_put_when(struct operand *operand, PyObject *object, PyObject *other) {
    PyObject *value = PyObject_GenericGetAttr(object, operand->attribute);
    if (value == (operand->wanted ? Py_True : Py_False))
        put_keyed(operand->word, key_in(operand->space, object), operand->channel, 0);
    Py_XDECREF(value);
    PyErr_Clear();
    return 0;
}

static void operand_dealloc(PyObject *operand) {
    Py_XDECREF(((struct operand *)operand)->attribute);
    PyObject_Free(operand);
}

static PyObject *operand_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"kind", "site", "channel", "space", "attribute", "wanted", NULL};
    unsigned int kind, site, channel, space;
    PyObject *attribute = NULL;
    int wanted = 1;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "IIII|Up:Operand", names, &kind, &site, &channel, &space, &attribute,
                                     &wanted))
        return NULL;
    if (kind == 0 || kind > 255 || space == 0 || space >= keys.spaces)
        return PyErr_Format(PyExc_ValueError, "there is no kind %u or no space %u", kind, space);
    PyObject *made = operand_make(attribute ? act_put_when : act_put, keyed_word(kind, site), channel, space);
    if (made && attribute) {
        ((struct operand *)made)->attribute = Py_NewRef(attribute);
        PyUnicode_InternInPlace(&((struct operand *)made)->attribute);
        ((struct operand *)made)->wanted = wanted;
    }
    return made;
}

/* Drops what a call of ours raised. -1, and the error is kept, for an interrupt. */
static int drop_error(void) {
    if (!PyErr_Occurred()) return 0;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear();
    return 0;
}

static PyTypeObject operand_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Operand",
    .tp_doc = "Operand(kind, site, channel, space, attribute=..., wanted=True): `del operand[object]` records the object, "
              "with an attribute only when that is `wanted`.",
    .tp_basicsize = sizeof(struct operand),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = operand_new,
    .tp_dealloc = operand_dealloc,
    .tp_as_number = &operand_number,
    .tp_as_mapping = &operand_mapping,
};

#endif
