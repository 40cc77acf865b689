/* Who holds which lock now: the thread, since when, and the lines that took it.
 *
 * Every successful acquire adds an entry to a table by the lock's address, and the release removes it, so the table has as
 * many entries as locks are held. An entry names code and instruction of the innermost frames; nothing is computed from
 * them until another thread waits. In a forked child the entries of other threads remain: their locks are never released.
 *
 * Invariant: an entry may be missing (a lock taken by C code, or before recording), but it never names another holder. */
#ifndef CLEW_LOCKS_HOLDERS_H
#define CLEW_LOCKS_HOLDERS_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/code_places.h"

#define NOTED_FRAMES 8

struct holder {
    const PyObject *lock;        /* Borrowed; NULL in an empty place */
    const struct thread *thread; /* Borrowed: only compared */
    uint64_t ticks;              /* when it took the lock; 0 if that is unknown */
    uint64_t epoch;              /* of the recording that `serial` belongs to */
    uint64_t process;            /* the uid of the process whose thread it is; 0 for this one */
    uint32_t serial, depth;
    uint32_t frames;
    struct code_place at[NOTED_FRAMES]; /* Owned: innermost first */
};

struct holders {
    struct holder *places; /* Owned; open addressing, at most half of it taken */
    size_t capacity;       /* a power of two, or 0 */
    size_t count;
};
SHARED struct holders holders;

/* The calling thread has the lock now, acquired `depth` times. */
void holder_add(const PyObject *lock, uint32_t depth);

/* A lock that its thread may acquire again: counts how often. */
void holder_add_again(const PyObject *lock);

/* The lock is free, or is no more. */
void holder_remove(const PyObject *lock);

/* One acquire of several is undone. */
void holder_remove_once(const PyObject *lock);

/* The lock's entry, Borrowed, or NULL. */
const struct holder *holder_find(const PyObject *lock);

/* A thread that is blocked by a lock. It may have the lock already and only wait for the GIL. */
struct waiter {
    struct waiter *next, *before; /* Borrowed */
    struct holder as;             /* what its entry will be */
    uint64_t forks;
};

/* From before a thread blocks until it has noted that it has the lock, or has not. */
struct waiter *waiter_add(const PyObject *lock); /* NULL without memory */
void waiter_remove(struct waiter *waiter);

/* Copies the entry that the only waiter other than the calling thread will make; false if there are none or several. */
bool waiter_copy(const PyObject *lock, struct holder *copy);

/* Copies an entry, with references of its own to the code in it; false if there is none. */
bool holder_copy(const PyObject *lock, struct holder *copy);
void holder_drop(struct holder *copy);

/* Writes a holder as a JSON object (`clew.records.format.facts.Holder`), with at most `frames` lines. Returns the bytes
 * written, 0 if there is no room. */
size_t holder_json(const struct holder *holder, uint32_t frames, char *out, size_t room);

/* In a child: `process` and `epoch` are the parent's. */
void holders_forked(uint64_t process, uint64_t epoch);

#endif
