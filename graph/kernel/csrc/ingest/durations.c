#include "durations.h"

#include "trace_format.h"

bool book(Finder *finder, const void *call, const void *inner, bool wide, const int64_t *exit, const int64_t *ts,
          const uint8_t *idle, const int64_t *strand_start, int64_t strands, const int64_t *pauses, int64_t paused,
          int64_t *total, int64_t *self, int64_t *waiting, Thrown thrown) {
    int64_t number = 0, opened = 0, before = -1, which = -1;
    for (int64_t strand = 0; strand < strands; strand++) {
        int64_t last = strand_start[strand + 1] - 1;
        for (; number < finder->calls && finder->enter[number] <= last; number++) {
            int64_t end = exit[number] >= 0 ? exit[number] : last;
            total[number] = ts[end] - ts[finder->enter[number]];
        }
        for (int64_t row = strand_start[strand]; row < last; row++) {
            if (is_cancelled(thrown, (uint64_t)row)) return false;
            int64_t running = get_row(inner, wide, row);
            if (running < 0) continue;
            if (running != before) { /* most often it is the next call, or the same one */
                while (opened < finder->calls && finder->enter[opened] < running) opened++;
                bool next = opened < finder->calls && finder->enter[opened] == running;
                which = next ? found_call(finder, running, opened) : find_call(finder, running);
                before = running;
            }
            int64_t length = ts[row + 1] - ts[row];
            if (idle[row]) waiting[which] += length;
            else self[which] += length;
        }
    }
    for (int64_t at = 0; at < paused; at++) {
        int64_t begin = pauses[2 * at], end = pauses[2 * at + 1];
        waiting[find_call(finder, get_row(call, wide, begin))] += ts[end] - ts[begin];
    }
    return true;
}

bool find_idle(const uint8_t *kind, const uint32_t *site, const void *sequence, bool wide, const int64_t *strand_start,
               int64_t strands, const uint8_t *by_loop, int64_t sites, uint8_t *idle) {
    for (int64_t strand = 0; strand < strands; strand++)
        for (int64_t row = strand_start[strand]; row + 1 < strand_start[strand + 1]; row++) {
            bool torn = get_row(sequence, wide, row + 1) != get_row(sequence, wide, row) + 1;
            idle[row] |= torn || kind[row] == KIND_STEP_END || kind[row] == KIND_PAUSE;
            int64_t next = row + 1;
            while (next + 1 < strand_start[strand + 1] && kind[next] == KIND_PAUSE) next++;
            if (kind[row] != KIND_SCOPE_END || kind[next] != KIND_SCOPE_BEGIN) continue;
            if (site[row] >= sites || site[next] >= sites) return false;
            idle[row] |= by_loop[site[row]] && by_loop[site[next]];
        }
    return true;
}

/* Return the last row of first..last whose time is before `bound`, first - 1 for none; times ascend within a strand. */
static int64_t last_before(const int64_t *ts, int64_t first, int64_t last, int64_t bound) {
    while (first <= last) {
        int64_t middle = first + (last - first) / 2;
        if (ts[middle] < bound) first = middle + 1;
        else last = middle - 1;
    }
    return last;
}

void find_waits(const int64_t *ts, const uint8_t *kind, const uint32_t *strand, const uint8_t *passive, const int64_t *src,
                const int64_t *dst, int64_t edges, uint8_t *idle) {
    /* The passive rows low..high were passed before. A task that polls an object that is set has millions in a row. */
    int64_t low = 0, high = -1;
    for (int64_t edge = 0; edge < edges; edge++) {
        if (edge + 16 < edges) { /* targets lie anywhere in memory */
            __builtin_prefetch(strand + dst[edge + 16]);
            __builtin_prefetch(ts + dst[edge + 16]);
        }
        int64_t source = src[edge], from = dst[edge] - 1, at = from;
        uint32_t mine = strand[dst[edge]];
        bool joined = false;
        if (strand[source] == mine) continue;
        for (; at >= 0 && strand[at] == mine; at--) {
            if (low <= at && at <= high) {
                joined = true;
                int64_t found = last_before(ts, low, at, ts[source]);
                at = found >= low ? found : low;
                if (found < low) continue;
            }
            if (ts[at] < ts[source]) {
                idle[at] = 1;
                break;
            }
            if (!passive[kind[at]]) break;
        }
        if (joined) {
            low = at + 1 < low ? at + 1 : low;
            high = from > high ? from : high;
        } else if (at < from) {
            low = at + 1;
            high = from;
        }
    }
}
