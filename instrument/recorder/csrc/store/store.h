/* The process's trace file: its header page, the segments that map it, and the end of recording.
 *
 * Invariants: disk space is allocated before it is mapped, so a full disk is an error code and never a SIGBUS. A
 * chunk belongs to one thread until it is finished, and to no thread until the collector has returned it. A forked
 * child neither sees nor writes the mappings of its parent. The recorder keeps no descriptor open while the program
 * runs, so the program gets the same descriptor numbers as without clew.
 *
 * All code runs with the GIL held, except `thread_end` (the last action of a thread) and `store_forked`.
 * `store.lock` guards the data that these functions share with the rest: the list of threads and the segments.
 * Python code never runs under this lock. */

#ifndef CLEW_STORE_STORE_H
#define CLEW_STORE_STORE_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "store/clock.h"
#include "store/finished_chunks.h"
#include "trace_format.h"

/* Segments grow: 16 chunks (1 MB), doubling up to 1024 chunks (64 MB) each; what has no room is halved, down to 1. */
#define FIRST_CHUNKS 16u
#define FULL_CHUNKS 1024u
#define MAX_SEGMENTS 4096u
/* Segments without a chunk in use stay mapped up to this many chunks, once chunks are used again. What is not in use there is in
 * the ring or a hole that takes no memory, so this bounds address space; the ring, of 16 MB, bounds the memory. */
#define IDLE_CHUNKS 2048u
#define NO_SEGMENT UINT32_MAX
#define SPARSE_THREADS 4096u /* each may cost two of the mappings that the kernel grants a process, 65,530 */

#define MAX_FLOWS 16u
#define MAX_FRAMES 128u

/* The request flow that a strand works for; see sampling.h. */
struct flow {
    uint8_t state, origin;
    bool pending; /* a new strand's: what its first JOIN receives decides */
    bool whole;   /* it began with the call of `owner`, whose end is its own */
    uint32_t channel, owner;
    uint32_t frames; /* frames_used when it began */
    uint32_t depth;  /* flows around it */
    bool open;       /* the beginning of its step or scope is in the trace */
    uint32_t step_site;
    uint64_t step; /* the strand whose step it is in; 0 for none */
};

/* Of a thread that had to do with flows: those around the one it works for, and calls under way in them. */
struct flow_stack {
    struct flow outer[MAX_FLOWS];
    uint32_t frames[MAX_FRAMES];
};

struct thread {
    char *cur, *end;              /* Borrowed: the free part of its chunk; equal when it has none, or seems to */
    char *limit;                  /* Borrowed: the true end of a chunk that only seems full; else NULL */
    char *chunk;                  /* Borrowed: its chunk's first byte */
    struct thread *next, *before; /* in store.threads, while linked */
    uint64_t native_id;
    uint32_t serial, number; /* serial 0: not yet known in this recording */
    uint32_t segment;
    uint32_t emitted;  /* records that Python code made by `emit`, and */
    uint32_t booked;   /* how many of them the budget knows of; both may wrap */
    bool linked, born; /* born: something was recorded, or left out, of it */
    bool
        withheld; /* the garbage collector runs, and nothing has been recorded since: `end` is `cur`; see garbage_collector.h */
    char *withheld_end;
    struct flow flow;
    struct flow_stack *stack; /* Owned; NULL until it is needed: thread-local memory is scarce */
    uint32_t frames_used;
    uint32_t depths; /* numbers there are in `depth`, of the recording `depth_epoch`; see counting.h */
    uint32_t *depth; /* Owned */
    uint64_t depth_epoch;
};

struct segment {
    char *map;      /* Owned; NULL when no thread writes there any more */
    size_t length;  /* of the mapping */
    char *chunks;   /* Borrowed: its first chunk */
    uint64_t first; /* number of that */
    uint32_t count; /* of chunks */
    uint32_t live;  /* chunks not yet claimed or still written to */
};

/* Initial-exec: the address is one addition away from the thread pointer, no call to __tls_get_addr. */
static __thread struct thread self __attribute__((tls_model("initial-exec")));

static struct {
    bool active;
    bool mute;                /* there was no stderr at the start: what has its number later is the program's own file */
    struct stat error_output; /* what stderr was at the start, see `say` */
    dev_t device;             /* with inode: which file it is, whatever has its name now */
    ino_t inode;
    struct file_header *header; /* Owned: the header page; stays mapped after a quota or failure, to count what is lost */
    uint64_t capacity;          /* chunks allocated and mapped */
    uint64_t limit;             /* chunks that the quota allows */
    uint64_t idle;              /* chunks in segments that are mapped and have none in use */
    bool keep_newest;           /* at the quota the oldest chunk makes room, instead of recording stopping */
    bool returning;             /* a chunk was used again: others will be */
    uint32_t segments, serials;
    struct thread *threads; /* Borrowed: every thread that has a chunk */
    uint64_t epoch;         /* number of the recording: what belongs to an earlier one is stale */
    uint64_t uid;
    int error;         /* errno of the last failed growth; 0 for the quota */
    char problem[512]; /* why recording stopped early */
    char path[PATH_MAX];
    pthread_mutex_t lock;
    pthread_key_t key;
    struct segment segment[MAX_SEGMENTS];
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The segment of a chunk that exists; nearly always the last. */
static inline uint32_t segment_of(uint64_t chunk) {
    uint32_t index = store.segments - 1;
    while (store.segment[index].first > chunk) index--;
    return index;
}

static inline uint64_t chunk_offset(uint64_t chunk) { return HEADER_SIZE + chunk * CHUNK_SIZE; }

/* Allocates `length` bytes of disk at `offset`. Returns 0 or an errno. A signal may interrupt a long allocation over and
 * over, and a file-size limit may kill the process instead of failing: neither is allowed to happen. */
static int disk_allocate(int fd, uint64_t offset, uint64_t length) {
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && offset + length > limit.rlim_cur) return EFBIG;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = posix_fallocate(fd, (off_t)offset, (off_t)length);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

/* Maps `length` bytes at any `offset` of the file, hidden from forked children; NULL and errno when it can't be. */
static char *map_file(int fd, uint64_t offset, uint64_t length, char **map, size_t *map_length) {
    uint64_t lead = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    *map_length = length + lead;
    *map = mmap(NULL, *map_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - lead));
    if (*map == MAP_FAILED) return *map = NULL;
#ifdef MADV_DONTFORK
    madvise(*map, *map_length, MADV_DONTFORK);
#endif
    return *map + lead;
}

/* A descriptor of the process's own file, to be closed at once, or -1 and errno: ENOENT when it was moved or removed.
 * Never 0, 1 or 2, for a thread that prints meanwhile in a program that has closed one of them. */
static int file_open(void) {
    struct stat found;
    int fd = open(store.path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fd <= STDERR_FILENO) {
        int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd);
        fd = higher;
    }
    if (fd < 0) return -1;
    if (!fstat(fd, &found) && found.st_dev == store.device && found.st_ino == store.inode) return fd;
    close(fd);
    errno = ENOENT;
    return -1;
}

/* Adds the segment numbered `store.segments`, of `count` chunks from `first`, with the file open as `fd`. */
static bool add_segment(int fd, uint64_t first, uint64_t count) {
    struct segment *segment = &store.segment[store.segments];
    store.error = store.keep_newest && !aging_reserve(first + count) ? ENOMEM : 0;
    if (!store.error) store.error = disk_allocate(fd, chunk_offset(first), count * CHUNK_SIZE);
    if (store.error) return false;
    segment->chunks = map_file(fd, chunk_offset(first), count * CHUNK_SIZE, &segment->map, &segment->length);
    if (!segment->chunks) {
        store.error = errno;
        return false;
    }
    segment->first = first;
    segment->live = segment->count = (uint32_t)count;
    store.segments++;
    __atomic_store_n(&store.capacity, first + count, __ATOMIC_RELEASE);
    return true;
}

/* How many chunks the next segment ought to have. */
static uint64_t next_count(void) {
    if (!store.segments) return FIRST_CHUNKS;
    uint64_t doubled = 2 * (store.capacity - store.segment[store.segments - 1].first);
    return doubled < FULL_CHUNKS ? doubled : FULL_CHUNKS;
}

/* How many chunks the file may have: what was packed counts against the quota, what became a hole does not. */
static uint64_t allowed(void) {
    uint64_t packed = __atomic_load_n(&store.header->packed_bytes, __ATOMIC_RELAXED) / CHUNK_SIZE;
    uint64_t most = store.limit + __atomic_load_n(&store.header->retired, __ATOMIC_RELAXED);
    return most > packed ? most - packed : 0;
}

/* Adds segments until `chunk` exists. False with `store.error` set when the quota, the disk or memory says no. */
static bool grow(uint64_t chunk) {
    uint64_t most = allowed();
    store.error = 0;
    if (chunk >= most) return false;
    while (store.capacity <= chunk) {
        uint64_t first = store.capacity, count = next_count();
        if (store.segments == MAX_SEGMENTS) return false;
        if (count > most - first) count = most - first;
        int fd = file_open();
        if (fd < 0) {
            store.error = errno;
            return false;
        }
        bool added = add_segment(fd, first, count);
        while (!added && count > 1) added = add_segment(fd, first, count /= 2);
        close(fd);
        if (!added) return false;
    }
    return true;
}

/* A pair whose nanoseconds are 0 is half-written, should the process be killed in here. */
static void store_clock_pair(void) {
    uint64_t ticks, nanoseconds;
    clock_pair(&ticks, &nanoseconds);
    __atomic_store_n(&store.header->last_monotonic_ns, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&store.header->last_ticks, ticks, __ATOMIC_RELEASE);
    __atomic_store_n(&store.header->last_monotonic_ns, nanoseconds, __ATOMIC_RELEASE);
}

static void thread_unlink(struct thread *thread) {
    if (!thread->linked) return;
    *(thread->before ? &thread->before->next : &store.threads) = thread->next;
    if (thread->next) thread->next->before = thread->before;
    thread->linked = false;
}

static void thread_reset(struct thread *thread) {
    thread->cur = thread->end = thread->limit = thread->chunk = NULL;
    thread->flow = (struct flow){0};
    thread->frames_used = 0;
    thread->born = false;
    thread->serial = thread->number = thread->emitted = thread->booked = 0;
    thread->segment = NO_SEGMENT;
    thread->withheld = false;
}

/* Ends the recording: every thread's next record takes the cold path, the file is cut to the chunks in use. */
static void store_finish(enum state state) {
    pthread_mutex_lock(&store.lock);
    store.active = false;
    while (store.threads) {
        struct thread *thread = store.threads;
        thread_unlink(thread);
        thread_reset(thread);
    }
    uint64_t used = store.header->chunks < store.capacity ? store.header->chunks : store.capacity;
    __atomic_store_n(&store.header->chunks, used, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < store.segments; i++) {
        if (store.segment[i].map) munmap(store.segment[i].map, store.segment[i].length);
        store.segment[i].map = NULL;
    }
    store.segments = 0;
    store.capacity = store.idle = 0;
    store_clock_pair();
    __atomic_store_n(&store.header->state, (uint8_t)state, __ATOMIC_RELEASE);
    /* A file that can't be cut ends in zeros, which readers skip. */
    int fd = file_open();
    if (fd >= 0) {
        int ignored = ftruncate(fd, (off_t)chunk_offset(used));
        (void)ignored;
        close(fd);
    }
    pthread_mutex_unlock(&store.lock);
}

/* Writes a line to stderr if that can be done at once: rather none than to wait for a reader, to be killed by a pipe that
 * has none, or to write into a file that the program itself has opened under stderr's number. stderr_notice.py does the same. */
static void say(const char *text) {
    char line[sizeof store.problem + 16];
    struct stat found;
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (store.mute || fstat(STDERR_FILENO, &found) || poll(&output, 1, 0) != 1 || output.revents != POLLOUT) return;
    if (S_ISREG(found.st_mode) && (found.st_dev != store.error_output.st_dev || found.st_ino != store.error_output.st_ino))
        return;
    int length = snprintf(line, sizeof line, "clew: %s\n", text);
    sigset_t pipe, old;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &old);
    if (write(STDERR_FILENO, line, (size_t)length) < 0 && errno == EPIPE && !sigismember(&old, SIGPIPE))
        sigtimedwait(&pipe, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Recording can't go on: says so once, at once, where the user looks, and keeps the reason for `problem()`. */
static void store_give_up(void) {
    if (store.error == ENOENT || store.error == ENOTDIR)
        snprintf(store.problem, sizeof store.problem, "recording of process %d stopped: %.300s was moved or removed (%s)",
                 (int)getpid(), store.path, strerror(store.error));
    else if (store.error)
        snprintf(store.problem, sizeof store.problem,
                 "recording of process %d stopped: %.300s cannot grow (%s); what was recorded until now is kept", (int)getpid(),
                 store.path, strerror(store.error));
    else
        snprintf(store.problem, sizeof store.problem,
                 "recording of process %d stopped: its quota of %.1f MB is used up; what was recorded until now is kept",
                 (int)getpid(), (double)chunk_offset(store.limit) / (1 << 20));
    store_finish(store.error ? STATE_FAILED : STATE_QUOTA);
    say(store.problem);
}

#endif
