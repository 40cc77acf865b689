/* Rows of bars painted into buckets of 2^shift ns: for each bucket, the bar that fills most of it and the filled
 * amount.
 *
 * Invariant: every bar is checked before its key is used as an index, so a damaged file causes an error. */
#ifndef CLEW_TILES_H
#define CLEW_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bars.h"
#include "memory.h"

/* A bar long enough for a name on it; as `bars.NAMED` in Python. */
typedef struct {
    int64_t begin, end;
    uint32_t row, cell;
} NamedBar;

LIST(NamedBars, NamedBar)

typedef struct {
    const Bar *bars;
    size_t sites;
    bool exact;
    int64_t from, least; /* bars of at least so many ns are named */
    int shift;
    int64_t buckets;
    Mix mix;
    int64_t at;       /* the bucket that `mix` is of */
    uint16_t *colour; /* per site, 0: none yet */
    Numbers palette;  /* sites, by colour - 1 */
    NamedBars named;
    uint16_t *cells; /* of the row */
    uint8_t *covers;
    bool bad;
} Painter;

/* The bars of a row that lie in the tile's time; `low` up to `high` are the row's. */
void paint_row(Painter *to, uint32_t row, int64_t low, int64_t high);

#endif
