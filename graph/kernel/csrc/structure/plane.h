/* The structure plane: a graph's regions and edges as fixed-width arrays, and lookups in them.
 *
 * Regions are numbered in preorder of a forest: a region with exactly one in-edge, which enters at its first event,
 * is a child of the region that the edge comes from. Events have positions, ordered by region, then by row. So
 * region p consists of the positions from start[p] up to start[p + 1], and its subtree is the regions from p up to
 * end[p], one range of positions. Invariant: plane_check has accepted the arrays, so their indexes never need
 * another check. */
#ifndef CLEW_PLANE_H
#define CLEW_PLANE_H

#include <stdbool.h>
#include <stdint.h>

#define NONE 0xFFFFFFFFu /* no region, place, piece or position */

typedef struct {
    uint32_t far; /* position at the other end */
    uint32_t far_region;
    uint32_t next; /* the first place in far_region whose near end is at or after `far` */
} Out;

typedef struct {
    uint32_t far;
    uint32_t far_region;
    uint32_t place; /* the same edge in `out` */
} Into;

typedef struct {
    uint64_t events;
    uint32_t regions, edges, runs;
    bool every;            /* is every edge followed without being asked for? */
    bool whole;            /* is every region one run of rows? Then run i is region i, and run_pos is not there. */
    const uint32_t *start; /* regions + 1 */
    const uint32_t *end;
    const uint32_t *out_first; /* regions + 1: places of a region's edges in `out`, sorted by (region, near) */
    const uint32_t *in_first;  /* regions + 1: and in `into` */
    const Out *out;
    const uint32_t *out_near; /* position at the near end */
    const uint32_t *out_edge; /* the edge's number in the graph */
    const Into *into;
    const uint64_t *tree;    /* bit per place of `out`: does the far region hang on this edge? */
    const uint64_t *follow;  /* bit per place: is it followed without being asked for, and no tree edge? */
    const uint32_t *run_row; /* runs of rows of one region, by position: the first row */
    const uint32_t *run_pos; /* and its position */
    const uint32_t *by_row;  /* the runs sorted by row */
} Plane;

static inline bool bit(const uint64_t *bits, uint32_t place) { return bits[place >> 6] >> (place & 63) & 1; }

/* Is an edge among the allowed ones (NULL: those that are followed without being asked for)? */
static inline bool allows(const Plane *plane, const uint8_t *allowed, uint32_t place) {
    if (allowed) return allowed[plane->out_edge[place]];
    return plane->every || bit(plane->tree, place) || bit(plane->follow, place);
}

static inline uint32_t run_begin(const Plane *plane, uint32_t run) {
    return plane->whole ? plane->start[run] : plane->run_pos[run];
}

static inline uint32_t run_end(const Plane *plane, uint32_t run) {
    return run + 1 < plane->runs ? run_begin(plane, run + 1) : (uint32_t)plane->events;
}

/* The last index in [low, high) whose value is at most `value`; values ascend, and the first one is. */
static inline uint32_t last_at_most(const uint32_t *values, uint32_t low, uint32_t high, uint32_t value) {
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (values[middle] <= value) low = middle;
        else high = middle;
    }
    return low;
}

/* The first index in [low, high) whose value is at least `value`, or `high`. */
static inline uint32_t first_at_least(const uint32_t *values, uint32_t low, uint32_t high, uint32_t value) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (values[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

static inline uint32_t region_of(const Plane *plane, uint32_t position) {
    return last_at_most(plane->start, 0, plane->regions, position);
}

static inline uint32_t row_of(const Plane *plane, uint32_t region, uint32_t position) {
    uint32_t run = plane->whole ? region : last_at_most(plane->run_pos, 0, plane->runs, position);
    return plane->run_row[run] + (position - run_begin(plane, run));
}

static inline uint32_t position_of(const Plane *plane, uint32_t row) {
    uint32_t low = 0, high = plane->runs;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (plane->run_row[plane->by_row[middle]] <= row) low = middle;
        else high = middle;
    }
    uint32_t run = plane->by_row[low];
    return run_begin(plane, run) + (row - plane->run_row[run]);
}

/* The first place in `out` of a region's edges from `position` on. */
static inline uint32_t first_out(const Plane *plane, uint32_t region, uint32_t position) {
    uint32_t begin = plane->out_first[region];
    if (position == plane->start[region]) return begin;
    return first_at_least(plane->out_near, begin, plane->out_first[region + 1], position);
}

/* One past the last place in `into` of a region's edges up to `position`. */
static inline uint32_t last_in(const Plane *plane, uint32_t region, uint32_t position) {
    uint32_t low = plane->in_first[region], high = plane->in_first[region + 1];
    /* Most regions have one edge, at their beginning. */
    if (low < high && plane->out[plane->into[high - 1].place].far <= position) return high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plane->out[plane->into[middle].place].far <= position) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The first array that is not as the builder makes it, or NULL. */
const char *plane_check(const Plane *plane);

#endif
