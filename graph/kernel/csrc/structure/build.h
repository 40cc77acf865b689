/* Build the arrays of a plane from the runs of rows that form regions, and from edges between rows.
 *
 * The time is proportional to rows/32 + runs + edges, except for edges that are not yet sorted by (region, row of
 * the source); it needs about 60 bytes per edge. Invariant: the same input always gives the same arrays, byte for
 * byte, equal to those of tests/oracles/structure.py. */
#ifndef CLEW_BUILD_H
#define CLEW_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "plane.h"

typedef struct {
    uint64_t events;
    uint32_t numbers; /* the graph's regions are numbered below this; some may have no events */
    uint32_t runs, edges;
    const uint32_t *run_row, *run_region; /* by row */
    const uint32_t *src, *dst;
    const uint8_t *excluded; /* per edge, or NULL */
} Input;

/* Arrays of a build: those of the plane are given by the caller and filled, the others are owned. */
typedef struct {
    uint32_t *start, *end, *out_first, *in_first, *out_near, *out_edge, *run_row, *run_pos, *by_row;
    Out *out;
    Into *into;
    uint64_t *tree, *follow;
    uint32_t regions;
    uint32_t *size;       /* per graph region its events */
    uint32_t *run_offset; /* per run its first event's offset in its region */
    uint32_t *block;      /* per 32 rows the run of the first one */
    uint32_t *src_region, *src_offset, *dst_region, *dst_offset;
    uint32_t *order;        /* edges by (region, row of the source), NULL when they are so already */
    uint32_t *first;        /* per graph region its edges in that order */
    uint32_t *parent;       /* per graph region the edge it hangs on */
    uint32_t *rank;         /* per graph region its number in the plane */
    uint32_t *graph_region; /* and back */
} Build;

void build_free(Build *b);

/* Sizes of regions, and where in its region each run begins. Gives the name of what is wrong, or NULL. */
const char *build_runs(const Input *in, Build *b);

const char *build_ends(const Input *in, Build *b);

bool build_order(const Input *in, Build *b);

/* The edge that each region hangs on: its only one that counts, when it enters at the first event from another region. */
bool build_parents(const Input *in, Build *b);

bool build_forest(const Input *in, Build *b);

void build_out(const Input *in, Build *b);

bool build_into(const Input *in, Build *b);

/* Fills run_row, by_row and, where it differs from start, run_pos. */
bool build_rows(const Input *in, Build *b);

/* Do times never go back inside a region (*steady) nor along an edge (*forward)? False without memory. */
bool times_ascend(const Input *in, const int64_t *ts, bool *steady, bool *forward);

#endif
