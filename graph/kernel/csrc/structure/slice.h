/* Slices by intervals: one bound per region; each edge uncovered by a moving bound is followed once.
 *
 * A bound is stored as its reach, so that the larger reach is always the better bound and 0 means none: forward it
 * is the complement of the position, backward the position plus one. A region reached at its first event includes
 * its subtree. Only an edge above the region leads to this subtree, so these regions are stored as a range and only
 * their side edges are checked. This applies to forward slices without limits, along the edges that are followed by
 * default, if the range contains no start. Invariant: between two slices every region's reach is 0; only the reached
 * regions are reset. */
#ifndef CLEW_SLICE_H
#define CLEW_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "plane.h"

typedef struct {
    uint32_t reach;   /* 0 where nothing was reached */
    uint32_t covered; /* forward the first place that the bound covers, backward one past the last */
} State;

/* Positions that a moving bound newly covers. */
typedef struct {
    uint32_t region, low, high;
} Move;
LIST(Moves, Move)

typedef struct {
    const Plane *plane;
    bool forward;
    const uint8_t *allowed; /* by the edges' numbers, or NULL: see `allows` */
    const uint8_t *crosses; /* likewise: does the edge lead to another process? */
    State *state;           /* per region */
    Numbers reached;
    Ranges ranges; /* places, yet to be followed */
    bool by_trees;
    const uint32_t *starts; /* regions, ascending */
    size_t start_count;
    Ranges whole; /* regions that are reached from their first event on, each with those below it */
    Ranges sides; /* places, of which the side edges are yet to be followed */
    Moves *moves; /* every move of a bound, where they are asked for; else NULL, as it is by trees */
    uint64_t followed;
} Slicing;

static inline uint32_t reach_of(const Slicing *s, uint32_t position) { return s->forward ? NONE - position : position + 1; }
static inline uint32_t bound_of(const Slicing *s, uint32_t reach) { return s->forward ? NONE - reach : reach - 1; }

static inline bool crosses(const Slicing *s, uint32_t place) { return s->crosses[s->plane->out_edge[place]]; }

void reach_position(Slicing *s, uint32_t region, uint32_t position);

/* At most one of the limits is given; -1 stands for none. */
void slice_run(Slicing *s, int64_t max_hops, int64_t max_network_hops);

void slice_limited(Slicing *s, const uint32_t *regions, const uint32_t *positions, size_t count, int64_t max_hops,
                   uint32_t max_network_hops);

#endif
