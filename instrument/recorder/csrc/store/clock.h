/* Time stamps: the processor's cycle counter if it is invariant, else the monotonic clock.
 *
 * Invariant: one process uses one clock from start to stop. Each pair of (ticks, monotonic ns) is taken so that its
 * two values are tens of nanoseconds apart, regardless of the load of the machine. */

#ifndef CLEW_STORE_CLOCK_H
#define CLEW_STORE_CLOCK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static bool clock_cycles; /* decided once, when the module is loaded */

static inline uint64_t clock_read(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks of the chosen clock; never 0. */
static inline uint64_t now(void) {
#if defined(__x86_64__)
    if (LIKELY(clock_cycles)) return __rdtsc();
#endif
    return clock_read(CLOCK_MONOTONIC);
}

#if defined(__x86_64__)
/* The kernel strikes "tsc" off this list when the counters of several sockets do not agree. */
static bool kernel_trusts_counter(void) {
    char text[256];
    int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return true;
    text[length] = 0;
    return strstr(text, "tsc") != NULL;
}
#endif

static void clock_choose(void) {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    bool invariant = __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
    clock_cycles = invariant && kernel_trusts_counter();
#else
    clock_cycles = false;
#endif
}

/* The same instant on both clocks: the tightest of three readings, so that a preemption between the two spoils none. */
static void clock_pair(uint64_t *ticks, uint64_t *nanoseconds) {
    if (!clock_cycles) {
        *ticks = *nanoseconds = clock_read(CLOCK_MONOTONIC);
        return;
    }
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = now(), time = clock_read(CLOCK_MONOTONIC), width = now() - before;
        if (width < best) {
            best = width;
            *ticks = before + width / 2;
            *nanoseconds = time;
        }
    }
}

#endif
