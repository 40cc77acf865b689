/* Write records into chunks: plain records, records with an extension, and definitions.
 *
 * Invariants: a record's ticks are stored last. `put_fast` is four loads, three stores and the clock, without a lock,
 * an allocation, a system call or a Python object, so it can neither fail nor be reentered. */
#ifndef CLEW_STORE_RECORDS_H
#define CLEW_STORE_RECORDS_H

#include "core.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/clock.h"
#include "store/pauses.h"
#include "store/store.h"
#include "trace_format.h"

/* How far ahead of a record its memory is prefetched: a chunk that was used before is in the caches of the collector. */
#define AHEAD 512

struct definitions {
    char *cur, *end; /* Borrowed: the free part of the definition chunk */
    char *chunk;     /* Borrowed: its first byte */
    uint64_t epoch;
    uint32_t number, segment;
    pthread_mutex_t lock;
};
SHARED struct definitions definitions;

/* Makes the calling thread known to this recording. Returns false if recording has ended. */
bool thread_known(void);

/* Gives the calling thread room for any record. False when it is to be dropped. */
COLD bool claim(void);

/* Stores a plain record, where the clock is the cycle counter, if that takes no more than storing it. Calls nothing, so that
 * its callers save no register. */
static inline bool put_fast(uint64_t word) {
#if defined(__x86_64__)
    struct record *record = (struct record *)self.cur;
    if (UNLIKELY((char *)record >= self.end || pause_seen())) return false;
    __asm__ volatile("prefetchw %0" : : "m"(*((char *)record + AHEAD)));
    __atomic_store_n(&record->word, word, __ATOMIC_RELAXED);
    __atomic_store_n(&record->ticks, __rdtsc(), __ATOMIC_RELEASE);
    self.cur = (char *)(record + 1);
    return true;
#else
    return false;
#endif
}

/* Stores a plain record, whatever it takes. */
COLD void put_slow(uint64_t word);

static inline void put(uint64_t word) {
    if (UNLIKELY(!clock_cycles || !put_fast(word))) put_slow(word);
}

/* Stores the beginning of a step, if a flow that was left out ended in the middle of it: the rest is recorded. */
void flow_reopen(void);

/* Stores a record with an extension in the calling thread's stream. */
void put_extended(uint64_t kind, uint64_t site, uint64_t key, uint32_t channel, const char *text, size_t length,
                  uint32_t flags);

/* Stores a definition; dropped in silence when nothing is being recorded. */
void define(uint64_t kind, uint64_t key, const char *text, size_t length);

#endif
