/* Find the call in which each event happened: process each strand's ENTER, EXIT, UNWIND, SUSPEND and RESUME with a
 * stack.
 *
 * An end closes the innermost running call of its site; calls above it have stopped recording. Otherwise it closes
 * the most recently suspended call of its site, into which an exception was thrown. Calls above a coroutine that
 * suspends run in a greenlet, as in SQLAlchemy's asyncio extension: they are set aside and continue above the
 * coroutine when it resumes. Only calls of sites without a gap are, because ends are missing in a gap. Invariant: the
 * time of a step is at most proportional to the entries it removes and those that are set aside. */
#ifndef CLEW_NESTING_H
#define CLEW_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cancellation.h"

typedef struct {
    void *call, *inner; /* rows, of 4 or 8 bytes */
    bool wide;
    int64_t *enter, *exit, *caller; /* per call, in the order of their rows */
    int64_t *pauses;                /* pairs of rows */
    int64_t calls, paused, unmatched;
    Thrown thrown;
    bool cancelled;
} Nested;

static inline void put_row(void *rows, bool wide, int64_t at, int64_t value) {
    if (wide) ((int64_t *)rows)[at] = value;
    else ((int32_t *)rows)[at] = (int32_t)value;
}

static inline int64_t get_row(const void *rows, bool wide, int64_t at) {
    return wide ? ((const int64_t *)rows)[at] : ((const int32_t *)rows)[at];
}

enum { REMEMBERED = 1024 };

typedef struct {
    const int64_t *enter;
    int64_t calls;
    int64_t row[REMEMBERED], number[REMEMBERED]; /* of calls that were looked up last */
} Finder;

void finder_make(Finder *finder, const int64_t *enter, int64_t calls);

static inline int64_t found_call(Finder *finder, int64_t row, int64_t number) {
    size_t at = (size_t)row % REMEMBERED;
    finder->row[at] = row;
    return finder->number[at] = number;
}

static inline int64_t find_call(Finder *finder, int64_t row) {
    size_t at = (size_t)row % REMEMBERED;
    if (finder->row[at] == row) return finder->number[at];
    int64_t low = 0, high = finder->calls;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (finder->enter[middle] <= row) low = middle;
        else high = middle;
    }
    return found_call(finder, row, low);
}

/* `sites` is one more than the greatest site. Returns false without memory or when cancelled. */
bool nest_all(const uint8_t *kind, const uint32_t *site, size_t sites, const int64_t *strand_start, int64_t strands,
              Nested *to);

#endif
