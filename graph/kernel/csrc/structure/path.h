/* Search backward along a critical path: in a region to the wait that ended last, along the edge that ended it, and
 * so on.
 *
 * `tests/oracles/backward_pass.py` is the reference implementation in Python. Invariants: every step within a strand goes to an earlier row and no event begins two
 * segments, so the search ends; an index in a column is always checked before use. */
#ifndef CLEW_PATH_H
#define CLEW_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cancellation.h"
#include "memory.h"
#include "plane.h"
#include "slice.h"

/* Where the path came into a region. */
typedef struct {
    int64_t row, edge;     /* -1: it began here */
    size_t rivals, number; /* in the pool */
    uint32_t region;
} Entry;

/* The path on one strand, as Python gets it. */
typedef struct {
    int64_t edge, slack; /* -1: none */
    int64_t stretches, rivals;
} PathPiece;

typedef struct {
    int64_t low, stop;
} Stretch;

LIST(Entries, Entry)
LIST(PathPieces, PathPiece)
LIST(Stretches, Stretch)
LIST(EventRows, int64_t)
LIST(EdgeKeys, uint64_t)

typedef struct {
    const Plane *plane;
    const int64_t *ts, *src, *dst, *bounds, *strand_start;
    const uint32_t *site, *strand, *region;
    const uint8_t *kind, *adapter, *root, *follow, *kinds;
    size_t sites, strands, regions; /* regions as the graph numbers them */
    int64_t since;                  /* what was before is not asked for */
    bool forward;
    State *state;    /* per region: `reach` is what its opening has, plus 2; `covered` where its entry may be */
    uint32_t *mark;  /* per row: does a piece begin there? */
    uint32_t *begun; /* per row, what `passive_begin` has found, plus 1; 0: nothing yet. Kept from walk to walk */
    Numbers opened;  /* regions whose state is to be reset */
    Entries entries; /* of the strand that is walked along */
    EventRows pool;  /* rivals of these */
    EdgeKeys keys;   /* edges that ended one wait: row of the target above the edge's number */
    PathPieces pieces;
    Stretches stretches;
    EventRows rivals;
    bool failed;
    const char *bad; /* the column that leads astray */
    Thrown thrown;
    bool cancelled; /* ended early */
} PathWalk;

static inline bool walks_on(const PathWalk *w) {
    return !w->bad && !w->failed && !w->opened.failed && !w->entries.failed && !w->pool.failed && !w->keys.failed &&
           !w->pieces.failed && !w->stretches.failed && !w->rivals.failed;
}

/* Walks back from an event to the piece that begins at or before the time `since`. */
void walk_path(PathWalk *w, int64_t event);

#endif
