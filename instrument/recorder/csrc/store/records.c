#include "store/records.h"

#include <string.h>
#include <sys/mman.h>

#include "callbacks/garbage_collector.h"
#include "calls/budget.h"
#include "calls/counting.h"
#include "store/chunks.h"
#include "store/lifecycle.h"
#include "store/pauses.h"
#include "store/sampling.h"
#include "store/thread_definition.h"

#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, Linux 5.14; older kernels answer EINVAL and pages come one by one */

struct definitions definitions = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool thread_known(void) {
    /* Defining it may collect garbage, whose finalizers may do anything: end this recording and begin another, even. */
    while (store.active && !self.linked) {
        if (!thread_begin()) return false;
        thread_define();
    }
    return store.active;
}

static COLD bool claim_chunk(void);

COLD bool claim(void) {
    if (LIKELY(!self.withheld)) return claim_chunk();
    self.withheld = false;
    self.end = self.withheld_end;
    if (self.end - self.cur < 2 * RECORD_SIZE * (1 + MAX_SLOTS) && !claim_chunk()) return false;
    collection_seen();
    return true;
}

/* Gives the calling thread a new chunk. Returns false without one. */
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
    if (later && fresh) /* A busy thread: populating all pages at once is cheaper than a fault for each. */
        madvise((char *)((uintptr_t)chunk & ~(uintptr_t)4095), CHUNK_SIZE, POPULATE_WRITE);
    self.chunk = chunk;
    self.cur = chunk + CHUNK_HEADER_SIZE;
    self.end = chunk + CHUNK_SIZE;
    self.segment = segment;
    self.number++;
    if (hot) site_degraded(hot);
    return store.active;
}

COLD void put_slow(uint64_t word) {
    if (UNLIKELY(pause_seen())) pause_look();
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

void flow_reopen(void) {
    struct flow *flow = &self.flow;
    if (LIKELY(flow->open || !flow->step)) return;
    flow->open = true;
    if ((size_t)(self.end - self.cur) >= 2 * RECORD_SIZE || claim()) {
        write_extended(self.cur, KIND_STEP_BEGIN, flow->step_site, flow->step, 0, "", 0, 0);
        self.cur += 2 * RECORD_SIZE;
    }
}

void put_extended(uint64_t kind, uint64_t site, uint64_t key, uint32_t channel, const char *text, size_t length,
                  uint32_t flags) {
    if (length > MAX_TEXT) {
        length = MAX_TEXT;
        flags |= FLAG_TRUNCATED;
    }
    if (UNLIKELY(pause_seen())) pause_look();
    size_t size = RECORD_SIZE * (1 + slots_for(length));
    if (UNLIKELY(flows.on) && !flow_admits(kind, site, key, channel)) return;
    if ((size_t)(self.end - self.cur) >= size || claim()) {
        write_extended(self.cur, kind, site, key, channel, text, length, flags);
        self.cur += size;
    }
    if (UNLIKELY(flows.on)) flow_settle();
}

void define(uint64_t kind, uint64_t key, const char *text, size_t length) {
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
