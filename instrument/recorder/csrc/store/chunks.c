#include "store/chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/finished_chunks.h"

/* A chunk to be used again, its segment mapped; NULL when that can't be. */
static char *chunk_mapped(uint64_t chunk, uint32_t *index) {
    *index = segment_of(chunk);
    struct segment *segment = &store.segment[*index];
    if (!segment->map) {
        int fd = file_open();
        if (fd < 0) return NULL;
        uint64_t length = (uint64_t)segment->count * CHUNK_SIZE;
        segment->chunks = map_file(fd, chunk_offset(segment->first), length, &segment->map, &segment->length);
        close(fd);
        if (!segment->chunks) return NULL;
        store.idle += segment->count;
    }
    return segment->chunks + (chunk - segment->first) * CHUNK_SIZE;
}

/* One more chunk of a mapped segment is in use. */
static void segment_used(struct segment *segment) {
    store.returning = true;
    if (!segment->live++) store.idle -= segment->count;
}

/* The chunk at the ring's tail, which stays there until `ring_taken`; NULL if the ring is empty. Call with the lock held. */
static char *ring_peek(uint32_t *index) {
    struct file_header *header = store.header;
    const uint32_t *ring = (const uint32_t *)(const void *)((char *)header + RING_OFFSET);
    for (;;) {
        uint32_t head = __atomic_load_n(&header->ring_head, __ATOMIC_ACQUIRE), waiting = head - header->ring_tail;
        if (waiting > RING_CHUNKS) /* damage */
            __atomic_store_n(&header->ring_tail, head, __ATOMIC_RELEASE);
        if (!waiting || waiting > RING_CHUNKS) return NULL;
        uint32_t chunk = __atomic_load_n(&ring[header->ring_tail % RING_CHUNKS], __ATOMIC_RELAXED);
        if (chunk < store.capacity) {
            char *found = chunk_mapped(chunk, index);
            if (!found) return NULL;
            if (__atomic_load_n(&((struct chunk_header *)found)->state, __ATOMIC_ACQUIRE) == CHUNK_FREE) {
                segment_used(&store.segment[*index]);
                aging_leave(chunk + 1);
                return found;
            }
        }
        __atomic_store_n(&header->ring_tail, header->ring_tail + 1, __ATOMIC_RELEASE); /* damage */
    }
}

static void ring_taken(void) { __atomic_store_n(&store.header->ring_tail, store.header->ring_tail + 1, __ATOMIC_RELEASE); }

/* A chunk that was never used, all zeros, or NULL with `store.error` set. Call with the lock held. */
static char *chunk_fresh(uint32_t *segment) {
    uint64_t index = __atomic_fetch_add(&store.header->chunks, 1, __ATOMIC_RELAXED);
    if (!grow(index)) return NULL;
    *segment = segment_of(index);
    return store.segment[*segment].chunks + (index - store.segment[*segment].first) * CHUNK_SIZE;
}

/* Takes the kernel's lock on a chunk's header, or releases it. Returns false if another process holds it, or the system
 * has no such locks. */
static bool chunk_lock(int fd, uint64_t chunk, short type) {
#ifdef F_OFD_SETLK
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)chunk_offset(chunk), .l_len = CHUNK_HEADER_SIZE};
    return !fcntl(fd, F_OFD_SETLK, &lock);
#else
    return false;
#endif
}

/* Counts the records of a chunk that goes. A clock pair is not needed: it says until when records are missing. */
static void count_dropped(const char *chunk) {
    uint64_t records = 0, last = 0;
    for (const char *at = chunk + CHUNK_HEADER_SIZE; at < chunk + CHUNK_SIZE; records++) {
        const struct record *record = (const struct record *)(const void *)at;
        if (!record->ticks) break;
        last = record->ticks;
        at += RECORD_SIZE * (1 + (record->word >> 8 & MAX_SLOTS));
    }
    struct file_header *header = store.header;
    if (last > header->overwritten_ticks) __atomic_store_n(&header->overwritten_ticks, last, __ATOMIC_RELAXED);
    __atomic_store_n(&header->overwritten, header->overwritten + records, __ATOMIC_RELEASE);
}

/* The oldest finished chunk, marked as dropped; NULL without one, with `store.error` if the file is missing. Call with the
 * lock held. */
static char *chunk_oldest(uint32_t *index) {
    int fd = aging.first ? file_open() : -1;
    if (fd < 0) {
        store.error = aging.first ? errno : 0;
        return NULL;
    }
    char *taken = NULL;
    for (uint32_t name = aging.first, next; name && !taken; name = next) {
        struct chunk_header head;
        uint64_t chunk = name - 1;
        next = aging.of[name].after;
        ssize_t got = pread(fd, &head, sizeof head, (off_t)chunk_offset(chunk));
        if (got != (ssize_t)sizeof head || head.state != CHUNK_FINISHED) { /* it is packed */
            aging_leave(name);
            continue;
        }
        if (!chunk_lock(fd, chunk, F_WRLCK)) continue;
        char *found = chunk_mapped(chunk, index);
        struct chunk_header *header = (struct chunk_header *)found;
        if (found && __atomic_load_n(&header->state, __ATOMIC_ACQUIRE) == CHUNK_FINISHED) {
            taken = found;
            segment_used(&store.segment[*index]);
            aging_leave(name);
            count_dropped(found);
            __atomic_store_n(&header->state, CHUNK_DROPPED, __ATOMIC_RELEASE);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        }
        chunk_lock(fd, chunk, F_UNLCK);
    }
    close(fd);
    return taken;
}

char *chunk_claim(enum chunk_kind kind, const struct thread *thread, uint32_t number, uint32_t *segment, bool *fresh) {
    pthread_mutex_lock(&store.lock);
    /* Over the quota although none was added: what is packed has grown. */
    store.error = 0;
    char *recycled = NULL, *dropped = NULL, *chunk = NULL;
    if (store.keep_newest || store.header->chunks <= allowed()) chunk = recycled = ring_peek(segment);
    if (!chunk && store.keep_newest && store.header->chunks >= allowed()) chunk = dropped = chunk_oldest(segment);
    if (!chunk && !store.error) chunk = chunk_fresh(segment);
    pthread_mutex_unlock(&store.lock);
    if (!chunk) {
        store_give_up();
        return NULL;
    }
    if (dropped) memset(chunk + CHUNK_HEADER_SIZE, 0, CHUNK_SIZE - CHUNK_HEADER_SIZE);
    *fresh = !recycled && !dropped;
    /* Most threads record a page or two: the kernel is not to read ahead and map their whole first chunk. */
    if (*fresh && thread && !number && thread->serial <= SPARSE_THREADS)
        madvise((char *)((uintptr_t)chunk & ~(uintptr_t)4095), CHUNK_SIZE, MADV_RANDOM);
    struct chunk_header *header = (struct chunk_header *)chunk;
    header->kind = (uint16_t)kind;
    header->native_id = thread ? thread->native_id : 0;
    header->serial = thread ? thread->serial : 0;
    header->number = number;
    store_clock_pair();
    header->ticks = store.header->last_ticks;
    header->monotonic_ns = store.header->last_monotonic_ns;
    if (!*fresh) {
        __atomic_store_n(&header->state, CHUNK_IN_USE, __ATOMIC_RELEASE);
        if (recycled) ring_taken();
    } else {
        __atomic_store_n(&header->magic, CHUNK_MAGIC, __ATOMIC_RELEASE);
    }
    return chunk;
}

void chunk_release(char *chunk, uint32_t index) {
    if (index == NO_SEGMENT) return;
    struct segment *segment = &store.segment[index];
    if (store.keep_newest && ((struct chunk_header *)chunk)->kind == CHUNK_EVENTS)
        aging_enter((uint32_t)(segment->first + (uint64_t)(chunk - segment->chunks) / CHUNK_SIZE) + 1);
    __atomic_store_n(&((struct chunk_header *)chunk)->state, CHUNK_FINISHED, __ATOMIC_RELEASE);
    __atomic_fetch_add(&store.header->finished, 1, __ATOMIC_RELEASE);
    if (--segment->live) return;
    bool again = store.returning || __atomic_load_n(&store.header->ring_head, __ATOMIC_RELAXED);
    if (again && store.idle + segment->count <= IDLE_CHUNKS) {
        store.idle += segment->count;
        return;
    }
    munmap(segment->map, segment->length);
    segment->map = NULL;
}
