/* Slice and condense in one pass over the preorder forest, for labels that are constant within each region.
 *
 * The subtree of a position is one range of regions, so only side edges (followed edges that are not tree edges) are
 * checked. A segment is a part of the forest with one label. A range contains most of its segments completely, and
 * their sums are known. If a slice enters a tree root late, the rest of the root's own segment is summed from its
 * ends. Invariants: times never decrease inside a region or along an edge (guaranteed by the caller), so the first
 * time of a segment is the time of its entry; between two queries the bound of every root is NONE. */
#ifndef CLEW_FOREST_H
#define CLEW_FOREST_H

#include <stdbool.h>
#include <stdint.h>

#include "condense.h"
#include "memory.h"
#include "plane.h"

typedef struct {
    uint32_t far, root, piece, place; /* where it leads, from which piece, and its place in `out` */
} Side;

typedef struct {
    uint32_t start, stop;        /* positions of the whole tree */
    uint32_t sides, sides_stop;  /* its side edges */
    uint32_t piece, pieces_stop; /* its own piece, and the end of those below */
    uint32_t bound;              /* of the query: the smallest position reached */
    uint32_t child;              /* and the first region below it that this covers */
} Root;

typedef struct {
    int64_t first, last;
    uint32_t before; /* events in the pieces before it */
    uint32_t label, parent, top;
} Piece;

/* Pieces low up to high, all whole; those that hang on piece `from` hang on `to` in this query. */
typedef struct {
    uint32_t low, high, from, to;
} Nested;
LIST(Nesteds, Nested)

typedef struct {
    Root *roots;
    uint32_t *parent, *number; /* per piece, one more for the start's */
    Ranges sides;
    Numbers reached;
    Nesteds nested;
} Query;

typedef struct {
    const Plane *plane;
    const uint32_t *labels;
    const int64_t *ts;
    uint32_t roots, sides, pieces;
    uint32_t *root_region;
    Side *side;
    uint32_t *side_rank;  /* per 64 places the side edges before */
    Piece *piece;         /* one more, for its `before` */
    uint64_t *top;        /* bit per region: does a piece begin? */
    uint32_t *piece_rank; /* per 64 regions the pieces before */
    uint32_t *tail;       /* per region, of it and its later siblings with their parent's label: where the last time is */
} Level;

void level_free(Level *l);

/* Makes a level. `labels` is by region, `ts` by row; both are kept. False without memory, all freed. */
bool level_make(Level *l, const Plane *plane, const uint32_t *labels, const int64_t *ts);

void query_free(Query *q);

bool query_make(Query *q, const Level *l);

/* The forward slice from a position, condensed. False without memory; *tangled when edges lead back to where it started
 * from, so that it has to be made the other way. */
bool level_condense(const Level *l, Query *q, uint32_t position, Condensed *into, bool *tangled);

#endif
