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

#include "core.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "trace_format.h"

#define MAX_SEGMENTS 4096u
/* Segments without a chunk in use stay mapped up to this many chunks, once chunks are used again. Their unused chunks are
 * in the ring, or holes that take no memory. So this bounds address space; the ring, of 16 MB, bounds the memory. */
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

/* The flows around the current one of a thread, and the calls that run in them. */
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
    bool withheld;     /* the garbage collector runs and nothing was recorded since; see garbage_collector.h */
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
SHARED __thread struct thread self __attribute__((tls_model("initial-exec")));

struct store {
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
};
SHARED struct store store;

/* The segment of a chunk that exists; nearly always the last. */
static inline uint32_t segment_of(uint64_t chunk) {
    uint32_t index = store.segments - 1;
    while (store.segment[index].first > chunk) index--;
    return index;
}

static inline uint64_t chunk_offset(uint64_t chunk) { return HEADER_SIZE + chunk * CHUNK_SIZE; }

/* Allocates `length` bytes of disk at `offset`. Returns 0 or an errno. A signal may interrupt a long allocation over and
 * over, and a file-size limit may kill the process instead of failing: neither is allowed to happen. */
int disk_allocate(int fd, uint64_t offset, uint64_t length);

/* Maps `length` bytes at any `offset` of the file, hidden from forked children; NULL and errno when it can't be. */
char *map_file(int fd, uint64_t offset, uint64_t length, char **map, size_t *map_length);

/* A descriptor of the process's own file, to be closed at once, or -1 and errno: ENOENT when it was moved or removed.
 * Never 0, 1 or 2, for a thread that prints meanwhile in a program that has closed one of them. */
int file_open(void);

/* How many chunks the file may have: what was packed counts against the quota, what became a hole does not. */
uint64_t allowed(void);

/* Adds segments until `chunk` exists. False with `store.error` set when the quota, the disk or memory says no. */
bool grow(uint64_t chunk);

/* A pair whose nanoseconds are 0 is half-written, should the process be killed in here. */
void store_clock_pair(void);

void thread_unlink(struct thread *thread);

void thread_reset(struct thread *thread);

/* Ends the recording: every thread's next record takes the cold path, the file is cut to the chunks in use. */
void store_finish(enum state state);

/* Stops a recording that cannot continue: prints the reason once and keeps it for `problem()`. */
void store_give_up(void);

#endif
