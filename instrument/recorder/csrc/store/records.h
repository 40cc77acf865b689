/* Write records into chunks: plain records, records with an extension, and definitions.
 *
 * Invariants: a record's ticks are stored last. `put_fast` is two loads, three stores and the clock, without a lock,
 * an allocation, a system call or a Python object, so it can neither fail nor be reentered. */

#ifndef CLEW_STORE_RECORDS_H
#define CLEW_STORE_RECORDS_H

#include "store/sampling.h"

/* How far before a record is written the memory for it is asked for: a chunk that was used before lies in the caches of
 * whoever packed it. */
#define AHEAD 512
#define COLD __attribute__((noinline, cold))
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, Linux 5.14; older kernels answer EINVAL and pages come one by one */

static void thread_define(void);                                /* core.c */
static uint64_t chunk_filled(uint64_t units, uint64_t emitted); /* budget.h: the site that became too hot, or 0 */
static void site_degraded(uint64_t site);                       /* counting.h */

static struct {
    char *cur, *end; /* Borrowed: the free part of the definition chunk */
    char *chunk;     /* Borrowed: its first byte */
    uint64_t epoch;
    uint32_t number, segment;
    pthread_mutex_t lock;
} definitions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Makes the calling thread known to this recording. False when there is none (any more). */
static bool thread_known(void) {
    /* Defining it may collect garbage, whose finalizers may do anything: end this recording and begin another, even. */
    while (store.active && !self.linked) {
        if (!thread_begin()) return false;
        thread_define();
    }
    return store.active;
}

static COLD bool claim_chunk(void);
static void collection_seen(void); /* garbage_collector.h */

/* Gives the calling thread room for any record. False when it is to be dropped. */
static COLD bool claim(void) {
    if (LIKELY(!self.withheld)) return claim_chunk();
    self.withheld = false;
    self.end = self.withheld_end;
    if (self.end - self.cur < 2 * RECORD_SIZE * (1 + MAX_SLOTS) && !claim_chunk()) return false;
    collection_seen();
    return true;
}

/* Gives the calling thread a new chunk. False when there is none. */
static COLD bool claim_chunk(void) {
    if (!thread_known()) {
        if (store.header) store.header->dropped++;
        return false;
    }
    uint64_t hot = 0;
    bool later = self.chunk != NULL;
    if (later) {
        hot = chunk_filled((uint64_t)(self.cur - self.chunk - CHUNK_HEADER_SIZE) / RECORD_SIZE, self.emitted - self.booked);
        self.booked = self.emitted;
        pthread_mutex_lock(&store.lock);
        chunk_release(self.chunk, self.segment);
        self.segment = NO_SEGMENT;
        pthread_mutex_unlock(&store.lock);
    }
    uint32_t segment;
    bool fresh;
    char *chunk = chunk_claim(CHUNK_EVENTS, &self, self.number, &segment, &fresh);
    if (!chunk) {
        store.header->dropped++;
        return false;
    }
    if (later && fresh) /* A busy thread: all pages at once is cheaper than a fault for each. */
        madvise((char *)((uintptr_t)chunk & ~(uintptr_t)4095), CHUNK_SIZE, POPULATE_WRITE);
    self.chunk = chunk;
    self.cur = chunk + CHUNK_HEADER_SIZE;
    self.end = chunk + CHUNK_SIZE;
    self.segment = segment;
    self.number++;
    if (hot) site_degraded(hot);
    return store.active;
}

/* Stores a plain record, where the clock is the cycle counter, if that takes no more than storing it. Calls nothing, so that
 * its callers save no register. */
static inline bool put_fast(uint64_t word) {
#if defined(__x86_64__)
    struct record *record = (struct record *)self.cur;
    if (UNLIKELY((char *)record >= self.end)) return false;
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
static COLD void put_slow(uint64_t word) {
    if (UNLIKELY(is_watched(&self.flow)) && !flow_admits_plain(word)) return;
    if (self.cur < self.end || claim()) {
        struct record *record = (struct record *)self.cur;
        __atomic_store_n(&record->word, word, __ATOMIC_RELAXED);
        __atomic_store_n(&record->ticks, now(), __ATOMIC_RELEASE);
        self.cur = (char *)(record + 1);
        self.born = true;
    }
    if (UNLIKELY(is_watched(&self.flow))) flow_close();
}

static inline void put(uint64_t word) {
    if (UNLIKELY(!clock_cycles || !put_fast(word))) put_slow(word);
}

/* 16-byte slots of an extension with `length` bytes of text. */
static inline uint64_t slots_for(size_t length) { return 1 + (length + 15) / 16; }

static inline void write_extended(char *at, uint64_t kind, uint64_t site, uint64_t key, uint32_t channel, const char *text,
                                  size_t length, uint32_t flags) {
    struct record *record = (struct record *)at;
    struct extension *extension = (struct extension *)(record + 1);
    extension->length = (uint16_t)length;
    extension->flags = (uint16_t)flags;
    extension->channel = channel;
    extension->key = key;
    memcpy(extension + 1, text, length);
    __atomic_store_n(&record->word, pack_word(kind, site, slots_for(length), 0), __ATOMIC_RELAXED);
    __atomic_store_n(&record->ticks, now(), __ATOMIC_RELEASE);
}

static void flow_reopen(void) {
    struct flow *flow = &self.flow;
    if (LIKELY(flow->open || !flow->step)) return;
    flow->open = true;
    if ((size_t)(self.end - self.cur) >= 2 * RECORD_SIZE || claim()) {
        write_extended(self.cur, KIND_STEP_BEGIN, flow->step_site, flow->step, 0, "", 0, 0);
        self.cur += 2 * RECORD_SIZE;
    }
}

/* Stores a record with an extension in the calling thread's stream. */
static void put_extended(uint64_t kind, uint64_t site, uint64_t key, uint32_t channel, const char *text, size_t length,
                         uint32_t flags) {
    if (length > MAX_TEXT) {
        length = MAX_TEXT;
        flags |= FLAG_TRUNCATED;
    }
    size_t size = RECORD_SIZE * (1 + slots_for(length));
    if (UNLIKELY(flows.on) && !flow_admits(kind, site, key, channel)) return;
    if ((size_t)(self.end - self.cur) >= size || claim()) {
        write_extended(self.cur, kind, site, key, channel, text, length, flags);
        self.cur += size;
    }
    if (UNLIKELY(flows.on)) flow_settle();
}

/* Stores a definition; dropped in silence when nothing is being recorded. */
static void define(uint64_t kind, uint64_t key, const char *text, size_t length) {
    uint32_t flags = length > MAX_TEXT ? FLAG_TRUNCATED : 0;
    length = length > MAX_TEXT ? MAX_TEXT : length;
    size_t size = RECORD_SIZE * (1 + slots_for(length));
    pthread_mutex_lock(&definitions.lock);
    if (definitions.epoch != store.epoch) {
        definitions.epoch = store.epoch;
        definitions.cur = definitions.end = NULL;
        definitions.number = 0;
        definitions.segment = NO_SEGMENT;
    }
    if (store.active && (size_t)(definitions.end - definitions.cur) < size) {
        bool fresh;
        pthread_mutex_lock(&store.lock);
        chunk_release(definitions.chunk, definitions.segment);
        definitions.segment = NO_SEGMENT;
        pthread_mutex_unlock(&store.lock);
        definitions.chunk = chunk_claim(CHUNK_DEFINITIONS, NULL, definitions.number++, &definitions.segment, &fresh);
        if (definitions.chunk) {
            definitions.cur = definitions.chunk + CHUNK_HEADER_SIZE;
            definitions.end = definitions.chunk + CHUNK_SIZE;
        }
    }
    if (store.active) {
        write_extended(definitions.cur, kind, 0, key, 0, text, length, flags);
        definitions.cur += size;
    }
    pthread_mutex_unlock(&definitions.lock);
}

#endif
