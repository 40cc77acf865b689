/* Operands: objects that adapters put into rewritten code of the standard library to record an object without
 * calling Python.
 *
 * `del operand[x]` acts on `x`, `operand[x] = y` on both, `~operand` on neither: instructions that push nothing. The
 * key is the object's address, shifted by a random number of the mechanism (its *space*). Invariants: an operand
 * never raises and never leaves a frame; two mechanisms never share a key, nor do a process and its forked child. */
#ifndef CLEW_HOOKS_OPERANDS_H
#define CLEW_HOOKS_OPERANDS_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/clock.h"
#include "store/records.h"
#include "store/sampling.h"
#include "store/store.h"
#include "trace_format.h"

#define SPACES 64u
#define KEYED_SIZE (2 * RECORD_SIZE)

struct keys {
    uint64_t base[SPACES], last;
    uint32_t spaces;
};
SHARED struct keys keys;

/* Draws new random numbers, at the start and in every forked child. */
void keys_renew(void);

/* A key that no other object of the run has. */
static inline uint64_t key_fresh(void) {
    keys.last += 0x9E3779B97F4A7C15u;
    return keys.last ? keys.last : key_fresh();
}

static inline uint64_t key_in(uint32_t space, const void *object) { return keys.base[space] + (uintptr_t)object; }

/* A space of its own for one mechanism; the last one is shared by those that come too late to get one. */
uint32_t space_new(void);

/* The word of a record whose extension is one slot: a key, a channel, flags. */
static inline uint64_t keyed_word(uint64_t kind, uint64_t site) { return pack_word(kind, site, 1, 0); }

/* The caller has checked that there is room. */
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
    if (UNLIKELY(pause_seen())) pause_look();
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

/* ---- Data about an object, by its address, until it is deallocated ---- */

struct beside {
    PyObject *object; /* Borrowed; NULL for a free place */
    uint64_t key, epoch;
    PyObject *coroutine; /* Owned: of a task, its coroutine's name; of a future that is awaited, its fields of a WAIT */
    bool cancelled;      /* of a task, by code that no handle runs */
    bool limited;        /* of a task, it may run in a block with a time limit */
    bool asked;          /* of a task, it was asked to cancel itself, and may not have taken that back */
    bool timed_out;      /* of a task, a time limit asked for its cancellation; of a future, a time limit released it */
    uint32_t channel;    /* of a WAIT of a task, 0 when it waits for nothing; of a future that is awaited */
    uint64_t wait_site, wait_key, cancelled_by;
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

/* A new entry, or NULL when there is no memory. Entries move when others come and go. */
struct beside *table_add(struct table *table, PyObject *object);

/* Removes an entry and returns it; its object is NULL if it was missing. */
struct beside table_forget(struct table *table, const PyObject *object);

/* ---- Operands ---- */

struct operand;
/* Gets borrowed objects, or NULL. Returns 0, or -1 and an error for an interrupt, which belongs to the program. */
typedef int (*act_function)(struct operand *operand, PyObject *object, PyObject *other);

struct operand {
    PyObject_HEAD
    act_function act;
    PyObject *attribute; /* Owned; NULL, or the name of what must be true of the object (or false) */
    bool wanted;         /* or whether calls from inside the resource are left out */
    bool counted;        /* whether it must have a number of slots */
    uint64_t word;
    uint32_t channel, space;
};

int act_put(struct operand *operand, PyObject *object, PyObject *other);

SHARED PyTypeObject operand_type;

/* A new reference, or NULL. */
PyObject *operand_make(act_function act, uint64_t word, uint32_t channel, uint32_t space);

/* Drops an exception of clew's own call. Keeps an interrupt and returns -1. */
int drop_error(void);

#endif
