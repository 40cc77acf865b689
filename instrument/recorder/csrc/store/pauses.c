#include "store/pauses.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "store/clock.h"
#include "store/records.h"
#include "store/sampling.h"
#include "store/store.h"
#include "trace_format.h"

#if defined(__x86_64__)
#define SIGNATURE 0x53053053u
#elif defined(__aarch64__)
#define SIGNATURE 0xd428bc00u
#else
#define SIGNATURE 0u
#endif
#define LEAST_NS 2000u     /* shorter pauses are no longer than the look at them */
#define UNCLEAR_NS 200000u /* from here on it is worth 6 us to learn what a thread that blocked waited for afterwards */

#define LOOKS 3
#define MOST_DELAY ((1ull << DELAY_BITS) - 1)
#define MOST_TIMES ((1ull << (64 - DELAY_BITS)) - 1)

/* As in <linux/rseq.h>, which older systems lack: the head of the area, and a descriptor. */
struct area {
    uint32_t cpu_id_start, cpu_id;
    uint64_t descriptor;
};
struct descriptor {
    uint32_t version, flags;
    uint64_t start, length, abort;
} __attribute__((aligned(32)));

/* The kernel checks a descriptor: the abort address is outside of the range, behind the signature. */
static const uint32_t never_run[8] = {SIGNATURE, SIGNATURE};
static struct descriptor latch;

/* A number that is not 0 in a thread that was armed, and what is known since the last look. */
static __thread struct {
    uint64_t armed;
    uint64_t wall, cpu; /* ns; wall 0: there was no look */
    uint64_t delay;     /* ns of waiting for a processor that are recorded, or were before */
    long blocked;       /* how often it gave the processor up */
    const char *walked; /* Borrowed: a record's beginning in the thread's chunk, or NULL */
} mine __attribute__((tls_model("initial-exec")));

ptrdiff_t pause_latch;
static bool watching;
static ptrdiff_t area_offset;
static bool area_known;

static char *thread_pointer(void) {
#if defined(__x86_64__)
    char *found;
    __asm__("mov %%fs:0, %0" : "=r"(found));
    return found;
#elif defined(__aarch64__)
    return (char *)__builtin_thread_pointer();
#else
    return (char *)&mine;
#endif
}

static uint64_t *latch_of_thread(void) {
    return area_known ? &((struct area *)(void *)(thread_pointer() + area_offset))->descriptor : NULL;
}

void pause_ready(void) {
    /* By name: glibc has them since 2.35, and this extension may be built for an older one. */
    const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
    if (SIGNATURE && offset && size && *size) {
        area_offset = *offset;
        area_known = true;
    }
    latch.start = (uint64_t)(uintptr_t)&never_run[6];
    latch.length = 1;
    latch.abort = (uint64_t)(uintptr_t)&never_run[2];
    pause_latch = (char *)&mine.armed - thread_pointer();
    mine.armed = 1;
}

/* ns that the thread waited for a processor in its life; -1 where the kernel does not count them. */
static int64_t delay_read(void) {
    char text[64], *end;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fd <= STDERR_FILENO) { /* a thread may print meanwhile in a program that has closed it */
        int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd);
        fd = higher;
    }
    if (fd < 0) return -1;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return -1;
    text[length] = 0;
    strtoull(text, &end, 10);
    return (int64_t)strtoull(end, NULL, 10);
}

static long blocked_read(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? -1 : usage.ru_nvcsw;
}

static void look_again(void) {
    mine.wall = clock_read(CLOCK_MONOTONIC_RAW);
    mine.cpu = clock_read(CLOCK_THREAD_CPUTIME_ID);
    mine.blocked = blocked_read();
}

/* A latch that somebody else closed is left alone. */
static void latch_close(void) {
    uint64_t *at = latch_of_thread();
    if (at && !*at) *(volatile uint64_t *)at = (uint64_t)(uintptr_t)&latch;
}

void pause_arm(void) {
    mine.armed = 1;
    mine.wall = 0;
    mine.walked = NULL;
    if (!watching) return;
    int before = errno;
    int64_t delay = delay_read();
    mine.delay = delay > 0 ? (uint64_t)delay : 0;
    latch_close();
    look_again();
    errno = before;
}

void pause_disarm(void) {
    uint64_t *at = latch_of_thread();
    if (at && *at == (uint64_t)(uintptr_t)&latch) *(volatile uint64_t *)at = 0;
    mine.wall = 0;
}

/* The ticks of the thread's last record, or of its chunk's beginning: no record is earlier. */
static uint64_t last_ticks(void) {
    uint64_t ticks = ((const struct chunk_header *)(const void *)self.chunk)->ticks;
    const char *at = self.chunk + CHUNK_HEADER_SIZE;
    if (mine.walked >= at && mine.walked < self.cur) at = mine.walked;
    while (at < self.cur) {
        const struct record *record = (const struct record *)(const void *)at;
        ticks = record->ticks;
        mine.walked = at;
        at += RECORD_SIZE * (1 + (record->word >> 8 & MAX_SLOTS));
    }
    return ticks;
}

/* How much of a pause of this length the thread waited for a processor. */
static uint64_t delay_in(uint64_t off, long blocked) {
    uint64_t delay = off;
    if (blocked != mine.blocked) {
        int64_t total = off < UNCLEAR_NS ? -1 : delay_read();
        if (total < 0) return 0;
        delay = (uint64_t)total > mine.delay ? (uint64_t)total - mine.delay : 0;
        mine.delay = (uint64_t)total;
        return delay < off ? delay : off;
    }
    mine.delay += delay;
    return delay;
}

static void pause_put(uint64_t ticks, uint64_t off, uint64_t delay, uint64_t blocked) {
    uint64_t first = last_ticks(), length = clock_ticks(off);
    struct record *record = (struct record *)(void *)self.cur;
    struct extension *extension = (struct extension *)(void *)(record + 1);
    *extension = (struct extension){.key = delay | blocked << DELAY_BITS};
    __atomic_store_n(&record->word, pack_word(KIND_PAUSE, 0, 1, 0), __ATOMIC_RELAXED);
    __atomic_store_n(&record->ticks, ticks - first > length ? ticks - length : first, __ATOMIC_RELEASE);
    mine.walked = self.cur;
    self.cur += 2 * RECORD_SIZE;
}

/* Tells the pause since the last look. */
static void look(void) {
    uint64_t wall = clock_read(CLOCK_MONOTONIC_RAW), ticks = now(), cpu = clock_read(CLOCK_THREAD_CPUTIME_ID);
    uint64_t passed = wall - mine.wall, ran = cpu - mine.cpu, off = passed > ran ? passed - ran : 0;
    mine.wall = wall;
    mine.cpu = cpu;
    if (off < LEAST_NS) return;
    long blocked = blocked_read();
    uint64_t delay = delay_in(off, blocked), times = (uint64_t)(blocked - mine.blocked);
    mine.blocked = blocked;
    if (self.flow.state == FLOW_DROPPED || (!self.flow.open && self.flow.step)) return;
    flow_open();
    if (self.end - self.cur >= 2 * RECORD_SIZE || claim())
        pause_put(ticks, off, delay & MOST_DELAY, times < MOST_TIMES ? times : MOST_TIMES);
    flow_settle();
}

COLD void pause_look(void) {
    /* In a collection of garbage, and before it is known whether a strand is recorded, the latch stays open. */
    if (!watching || !self.linked || self.withheld || self.flow.pending) return;
    if (self.cur < self.chunk || self.cur > self.chunk + CHUNK_SIZE) return; /* no chunk, while the recorder measures itself */
    int before = errno;
    if (!mine.wall) pause_arm();
    /* The latch is closed before the clocks are read, so that it shows a pause in the look, which is looked at, too. */
    for (int again = 0; again < LOOKS && pause_seen(); again++) {
        latch_close();
        look();
    }
    errno = before;
}

PyObject *core_pause_source(PyObject *module, PyObject *ignored) {
    if (!area_known) return PyUnicode_FromString("");
    return PyUnicode_FromString(delay_read() < 0 ? "rseq" : "rseq, schedstat");
}

PyObject *core_watch_pauses(PyObject *module, PyObject *on) {
    watching = area_known && PyObject_IsTrue(on) == 1;
    pause_latch =
        watching ? area_offset + (ptrdiff_t)offsetof(struct area, descriptor) : (char *)&mine.armed - thread_pointer();
    Py_RETURN_NONE;
}
