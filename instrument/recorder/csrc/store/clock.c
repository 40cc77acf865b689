#include "store/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool clock_cycles; /* decided once, when the module is loaded */
static uint64_t first_ticks, first_ns;

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

void clock_choose(void) {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    bool invariant = __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
    clock_cycles = invariant && kernel_trusts_counter();
#else
    clock_cycles = false;
#endif
    clock_pair(&first_ticks, &first_ns);
}

void clock_pair(uint64_t *ticks, uint64_t *nanoseconds) {
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

/* Nanoseconds of a tick, of all the time since the module was loaded; 0 right at its beginning. */
static double tick_ns(void) {
    if (!clock_cycles) return 1;
    uint64_t last_ticks, last_ns;
    clock_pair(&last_ticks, &last_ns);
    if (last_ticks <= first_ticks || last_ns <= first_ns) return 0;
    return (double)(last_ns - first_ns) / (double)(last_ticks - first_ticks);
}

uint64_t clock_ns(uint64_t ticks) { return (uint64_t)((double)ticks * tick_ns()); }

uint64_t clock_ticks(uint64_t nanoseconds) {
    double ns = tick_ns();
    return ns > 0 ? (uint64_t)((double)nanoseconds / ns) : 0;
}
