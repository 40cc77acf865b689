#include "locks/holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/clock.h"
#include "store/store.h"

struct holders holders;

static struct waiter *waiters; /* Owned, each by the thread that waits; a daemon thread may never come back for its own */
static uint64_t forks;

static const struct thread *forker; /* Borrowed: the thread that goes on in a forked child; it holds what it held */
static uint32_t forker_serial;      /* as far as is known */

static inline size_t home(const PyObject *lock) {
    return (size_t)(((uint64_t)(uintptr_t)lock >> 4) * 0x9E3779B97F4A7C15u >> 32) & (holders.capacity - 1);
}

static struct holder *find(const PyObject *lock) {
    if (!holders.count) return NULL;
    for (size_t i = home(lock);; i = (i + 1) & (holders.capacity - 1)) {
        if (holders.places[i].lock == lock) return &holders.places[i];
        if (!holders.places[i].lock) return NULL;
    }
}

const struct holder *holder_find(const PyObject *lock) { return find(lock); }

static struct holder *empty_place(const PyObject *lock) {
    size_t i = home(lock);
    while (holders.places[i].lock) i = (i + 1) & (holders.capacity - 1);
    holders.count++;
    holders.places[i].lock = lock;
    return &holders.places[i];
}

static COLD bool grow_table(void) {
    struct holder *old = holders.places;
    size_t size = holders.capacity, capacity = size ? 2 * size : 64;
    struct holder *places = calloc(capacity, sizeof *places);
    if (!places) return false;
    holders.places = places;
    holders.capacity = capacity;
    holders.count = 0;
    for (size_t i = 0; i < size; i++)
        if (old[i].lock) *empty_place(old[i].lock) = old[i];
    free(old);
    return true;
}

static void drop_code(struct code_place *at, uint32_t frames) {
    for (uint32_t i = 0; i < frames; i++) Py_DECREF(at[i].code);
}

void holder_remove(const PyObject *lock) {
    struct holder *gone = find(lock);
    if (!gone) return;
    struct code_place at[NOTED_FRAMES];
    uint32_t frames = gone->frames;
    memcpy(at, gone->at, frames * sizeof *at);
    size_t empty = (size_t)(gone - holders.places), mask = holders.capacity - 1;
    for (size_t i = (empty + 1) & mask; holders.places[i].lock; i = (i + 1) & mask) {
        if (((i - home(holders.places[i].lock)) & mask) >= ((i - empty) & mask)) {
            holders.places[empty] = holders.places[i];
            empty = i;
        }
    }
    holders.places[empty].lock = NULL;
    holders.count--;
    drop_code(at, frames); /* last, because it may run code that acquires locks */
}

/* All but the lock and the time. */
static inline void fill(struct holder *place, uint32_t depth) {
    place->thread = &self;
    place->epoch = store.epoch;
    place->process = 0;
    place->serial = self.linked ? self.serial : 0;
    if (UNLIKELY(&self == forker)) forker_serial = place->serial;
    place->depth = depth;
    place->frames = code_places(place->at, NOTED_FRAMES);
}

void holder_add(const PyObject *lock, uint32_t depth) {
    if (UNLIKELY(holders.count && find(lock))) holder_remove(lock); /* C code released it */
    if (UNLIKELY(2 * (holders.count + 1) > holders.capacity) && !grow_table()) return;
    struct holder *place = empty_place(lock);
    fill(place, depth);
    place->ticks = now();
}

void holder_add_again(const PyObject *lock) {
    struct holder *place = find(lock);
    if (place && place->thread == &self && !place->process) place->depth++;
    else holder_add(lock, 1);
}

void holder_remove_once(const PyObject *lock) {
    struct holder *place = find(lock);
    if (place && place->depth > 1) place->depth--;
    else if (place) holder_remove(lock);
}

struct waiter *waiter_add(const PyObject *lock) {
    struct waiter *waiter = malloc(sizeof *waiter);
    if (!waiter) return NULL;
    waiter->as.lock = lock;
    waiter->as.ticks = 0;
    fill(&waiter->as, 1);
    waiter->forks = forks;
    waiter->before = NULL;
    waiter->next = waiters;
    if (waiters) waiters->before = waiter;
    waiters = waiter;
    return waiter;
}

void waiter_remove(struct waiter *waiter) {
    if (!waiter) return;
    if (waiter->forks == forks) { /* else the list began anew */
        *(waiter->before ? &waiter->before->next : &waiters) = waiter->next;
        if (waiter->next) waiter->next->before = waiter->before;
    }
    drop_code(waiter->as.at, waiter->as.frames);
    free(waiter);
}

static bool copy_of(const struct holder *place, struct holder *copy) {
    if (!place) return false;
    *copy = *place;
    for (uint32_t i = 0; i < copy->frames; i++) Py_INCREF(copy->at[i].code);
    return true;
}

bool holder_copy(const PyObject *lock, struct holder *copy) { return copy_of(find(lock), copy); }

bool waiter_copy(const PyObject *lock, struct holder *copy) {
    const struct holder *only = NULL;
    for (const struct waiter *waiter = waiters; waiter; waiter = waiter->next) {
        if (waiter->as.lock != lock || waiter->as.thread == &self) continue;
        if (only) return false;
        only = &waiter->as;
    }
    return copy_of(only, copy);
}

void holder_drop(struct holder *copy) { drop_code(copy->at, copy->frames); }

size_t holder_json(const struct holder *holder, uint32_t frames, char *out, size_t room) {
    bool known = holder->process || holder->epoch == store.epoch;
    uint32_t serial = holder->thread == forker && !holder->process ? forker_serial : known ? holder->serial : 0;
    if (room < 200) return 0;
    size_t used = (size_t)snprintf(out, room, "{\"thread\":%u", serial);
    if (holder->ticks)
        used +=
            (size_t)snprintf(out + used, room - used, ",\"held_ns\":%llu", (unsigned long long)clock_ns(now() - holder->ticks));
    if (holder->process)
        used += (size_t)snprintf(out + used, room - used, ",\"process\":%llu", (unsigned long long)holder->process);
    memcpy(out + used, ",\"at\":", 6);
    used += 6;
    used += code_places_json(holder->at, holder->frames < frames ? holder->frames : frames, out + used, room - used - 1);
    out[used++] = '}';
    return used;
}

void holders_forked(uint64_t process, uint64_t epoch) {
    for (size_t i = 0; i < holders.capacity; i++) {
        struct holder *place = &holders.places[i];
        if (!place->lock) continue;
        if (place->thread == &self && !place->process) continue; /* it goes on here */
        if (!place->process) {
            place->process = process;
            if (place->epoch != epoch) place->serial = 0;
        }
        place->thread = NULL;
    }
    forker = &self;
    forker_serial = 0;
    waiters = NULL;
    forks++;
}
