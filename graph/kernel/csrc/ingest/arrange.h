/* Copy a thread's records to their places among the rows of a graph, strand by strand, see graph/build/row_order.py.
 *
 * Invariant: it never writes beyond a strand's rows; a record without a place there ends the pass. */
#ifndef CLEW_ARRANGE_H
#define CLEW_ARRANGE_H

#include <stdbool.h>
#include <stdint.h>

/* Counts records by strand; `home` is the thread that ran a strand. False: a strand that is not there. */
bool tally(const uint32_t *strand, int64_t records, int64_t base, int64_t strands, int64_t thread, int64_t *count,
           int64_t *home);

typedef struct {
    int64_t *ts;
    uint8_t *kind;
    uint32_t *site;
    int32_t *ext;
    void *sequence; /* of 4 or 8 bytes */
    bool wide;
} Row_columns;

/* `free` is each strand's first row without a record; records are numbered from `first`, extensions from `extended`. False: a
 * record without a place. */
bool place(const uint32_t *strand, const int64_t *ts, const uint8_t *kind, const uint32_t *site, const int32_t *ext,
           int64_t records, int64_t base, int64_t first, int32_t extended, const int64_t *start, int64_t strands,
           int64_t *free_, const Row_columns *to);

#endif
