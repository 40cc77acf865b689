#include "arrange.h"

#include <string.h>

#include "nesting.h"

enum { NO_THREAD = -1, SEVERAL_THREADS = -2 };

bool tally(const uint32_t *strand, int64_t records, int64_t base, int64_t strands, int64_t thread, int64_t *count,
           int64_t *home) {
    for (int64_t at = 0; at < records;) {
        uint32_t own = strand[at];
        int64_t begin = at, here = base + (int64_t)own;
        if (here >= strands) return false;
        while (at < records && strand[at] == own) at++;
        count[here] += at - begin;
        if (home[here] == NO_THREAD) home[here] = thread;
        else if (home[here] != thread) home[here] = SEVERAL_THREADS;
    }
    return true;
}

bool place(const uint32_t *strand, const int64_t *ts, const uint8_t *kind, const uint32_t *site, const int32_t *ext,
           int64_t records, int64_t base, int64_t first, int32_t extended, const int64_t *start, int64_t strands,
           int64_t *free_, const Row_columns *to) {
    for (int64_t at = 0; at < records;) {
        uint32_t own = strand[at];
        int64_t begin = at, here = base + (int64_t)own;
        if (here >= strands) return false;
        while (at < records && strand[at] == own) at++;
        int64_t row = free_[here], count = at - begin;
        if (row < start[here] || row > start[here + 1] - count) return false;
        memcpy(to->ts + row, ts + begin, (size_t)count * sizeof *ts);
        memcpy(to->kind + row, kind + begin, (size_t)count);
        memcpy(to->site + row, site + begin, (size_t)count * sizeof *site);
        for (int64_t i = 0; i < count; i++) to->ext[row + i] = ext[begin + i] < 0 ? -1 : ext[begin + i] + extended;
        for (int64_t i = 0; i < count; i++) put_row(to->sequence, to->wide, row + i, first + begin + i);
        free_[here] = row + count;
    }
    return true;
}
