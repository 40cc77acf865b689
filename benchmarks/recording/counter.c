/* How long a reading of the processor's cycle counter takes, one after the other, and how far apart the values are that it can
 * have: two lines, both in nanoseconds. What a record costs at least, and how fine its time can be. */

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

enum { READINGS = 1000000, ROUNDS = 9 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(void) {
    static uint64_t found[READINGS];
    double least = 1e18, ticks_of_a_ns = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (int number = 0; number < READINGS; number++) found[number] = __rdtsc();
        double taken = now() - start;
        if (taken >= least) continue;
        least = taken;
        ticks_of_a_ns = (double)(found[READINGS - 1] - found[0]) / taken;
    }
    uint64_t step = 0;
    for (int number = 1; number < READINGS; number++)
        for (uint64_t other = found[number] - found[number - 1]; other;) {
            uint64_t rest = step % other;
            step = other;
            other = rest;
        }
    printf("%.2f\n%.2f\n", least / READINGS, (double)step / ticks_of_a_ns);
    return 0;
}
