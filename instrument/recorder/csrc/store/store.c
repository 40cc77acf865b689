#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "store/clock.h"
#include "store/finished_chunks.h"

/* Segments grow: 16 chunks (1 MB), doubling up to 1024 chunks (64 MB) each; what has no room is halved, down to 1. */
#define FIRST_CHUNKS 16u
#define FULL_CHUNKS 1024u

__thread struct thread self __attribute__((tls_model("initial-exec")));

struct store store = {.lock = PTHREAD_MUTEX_INITIALIZER};

int disk_allocate(int fd, uint64_t offset, uint64_t length) {
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && offset + length > limit.rlim_cur) return EFBIG;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = posix_fallocate(fd, (off_t)offset, (off_t)length);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

char *map_file(int fd, uint64_t offset, uint64_t length, char **map, size_t *map_length) {
    uint64_t lead = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    *map_length = length + lead;
    *map = mmap(NULL, *map_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - lead));
    if (*map == MAP_FAILED) return *map = NULL;
#ifdef MADV_DONTFORK
    madvise(*map, *map_length, MADV_DONTFORK);
#endif
    return *map + lead;
}

int file_open(void) {
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

uint64_t allowed(void) {
    uint64_t packed = __atomic_load_n(&store.header->packed_bytes, __ATOMIC_RELAXED) / CHUNK_SIZE;
    uint64_t most = store.limit + __atomic_load_n(&store.header->retired, __ATOMIC_RELAXED);
    return most > packed ? most - packed : 0;
}

bool grow(uint64_t chunk) {
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

void store_clock_pair(void) {
    uint64_t ticks, nanoseconds;
    clock_pair(&ticks, &nanoseconds);
    __atomic_store_n(&store.header->last_monotonic_ns, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&store.header->last_ticks, ticks, __ATOMIC_RELEASE);
    __atomic_store_n(&store.header->last_monotonic_ns, nanoseconds, __ATOMIC_RELEASE);
}

void thread_unlink(struct thread *thread) {
    if (!thread->linked) return;
    *(thread->before ? &thread->before->next : &store.threads) = thread->next;
    if (thread->next) thread->next->before = thread->before;
    thread->linked = false;
}

void thread_reset(struct thread *thread) {
    thread->cur = thread->end = thread->limit = thread->chunk = NULL;
    thread->flow = (struct flow){0};
    thread->frames_used = 0;
    thread->born = false;
    thread->serial = thread->number = thread->emitted = thread->booked = 0;
    thread->segment = NO_SEGMENT;
    thread->withheld = false;
}

void store_finish(enum state state) {
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

/* Writes a line to stderr if that is possible at once. Otherwise writes nothing: it must not wait for a reader, be killed
 * by a pipe without one, or write into a file that the program opened under stderr's number. stderr_notice.py does the
 * same. */
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

void store_give_up(void) {
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
