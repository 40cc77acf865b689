/* The parts of a slice that require a look at every event: its runs of one label become nodes, whose events, calls,
 * times and edges are summed in two passes over the rows.
 *
 * A *place* is an event's number among the requested rows. A run is a sequence of adjacent events in a region with
 * one label. Edges of the slice, and calls that continue after interleaved calls, join runs of one label to nodes.
 * Invariants: an index in a column is always checked before use; nodes are sorted by their first time, then by the
 * region of their first event, then by its row. */
#ifndef CLEW_GATHER_H
#define CLEW_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cancellation.h"
#include "memory.h"
#include "plane.h"
#include "slice.h"

enum { HAS_REQUEST = 1, HAS_ENTER = 2 };

/* Rows of events, 32 or 64 bits wide, negative for none. */
typedef struct {
    const void *items;
    bool wide;
} Column;

static inline int64_t value_at(Column column, uint64_t row) {
    return column.wide ? ((const int64_t *)column.items)[row] : ((const int32_t *)column.items)[row];
}

/* Labels by place, or tables of them; without `by_site` a strand's events all have one. */
typedef struct {
    const uint32_t *codes, *running; /* by place, or NULL */
    const uint32_t *by_site, *by_strand;
    const uint8_t *named; /* per site: does it name an event that lies in no call? */
    size_t sites, strands;
} Names;

typedef struct {
    const Plane *plane;
    const int64_t *rows; /* ascending; NULL: all of the graph */
    size_t count;
    Names names;
    const int64_t *ts;
    const uint8_t *kind, *idle;
    const uint32_t *site, *strand, *region;
    Column owner, call, inner;
    const int64_t *enter, *total, *waiting, *paused; /* per call; `paused` is its waits without its suspensions */
    size_t calls;
    const int64_t *edges; /* their numbers; NULL: all of the graph */
    size_t edge_count;
    const int64_t *src, *dst;
    const uint8_t *edge_kind;
    const uint32_t *channel;
    const uint32_t *given; /* per place its node, or NULL */
} Asked;

typedef struct {
    int64_t self_ns, total_ns, waiting_ns;
    uint32_t first_event, last_event, events, calls, errors, strands, label, kinds;
    uint32_t strand, spare; /* `strand` is one more than that of the last event looked at */
} Node;

typedef struct {
    int64_t first; /* the smallest time */
    uint32_t row, region, code, parent;
} Run;
LIST(Runs, Run)

typedef struct {
    const Asked *asked;
    State *state;     /* per region of the plane: `reach` is one more than the last position, `covered` a run or place */
    uint32_t *mark;   /* per row one more than its place, 0 for none; NULL when all rows are asked about */
    uint32_t *run_of; /* per place; in the end its node */
    Runs runs;
    uint32_t *rank; /* owned: per node, as the walks number them along the rows, its number in the answer; NULL: the same */
    Node *nodes;    /* owned */
    size_t node_count;
    const char *bad; /* the column that leads astray */
    Thrown thrown;
    bool cancelled; /* ended early */
    size_t looked;  /* so many places were, by the first walk */
} Gathering;

/* Where the walk along the rows is among the runs of rows. */
typedef struct {
    uint32_t at, region, begin;
    uint64_t first, stop; /* rows */
} Cursor;

void cursor_move(const Plane *plane, Cursor *c, uint64_t row);

static inline uint32_t place_of(const Gathering *g, int64_t row) {
    if (row < 0 || (uint64_t)row >= g->asked->plane->events) return NONE;
    return g->mark ? g->mark[row] - 1 : (uint32_t)row;
}

static inline bool ends_early(Gathering *g, size_t step) { return g->cancelled = is_cancelled(g->thrown, step); }

static inline uint32_t site_code(Gathering *g, uint64_t row) {
    const Names *names = &g->asked->names;
    uint32_t site = g->asked->site[row];
    if (site < names->sites) return names->by_site[site];
    g->bad = "site";
    return 0;
}

static inline uint32_t strand_code(Gathering *g, uint64_t row) {
    const Names *names = &g->asked->names;
    uint32_t strand = g->asked->strand[row];
    if (strand < names->strands) return names->by_strand[strand];
    g->bad = "strand";
    return 0;
}

/* The label of what runs right after an event; NONE where no recorded call does. */
static inline uint32_t running_after(Gathering *g, size_t place, uint64_t row) {
    const Asked *a = g->asked;
    if (a->names.running) return a->names.running[place];
    int64_t inner = value_at(a->inner, row);
    if (inner < 0 || (uint64_t)inner >= a->plane->events) return NONE;
    return a->names.by_site ? site_code(g, (uint64_t)inner) : strand_code(g, row);
}

/* The place of an event of the same region as a run, NONE when it is none of the slice or lies elsewhere. */
static inline uint32_t beside(const Gathering *g, int64_t row, uint32_t run) {
    uint32_t place = place_of(g, row);
    if (place == NONE || g->runs.items[g->run_of[place]].region != g->runs.items[run].region) return NONE;
    return place;
}

/* The first walk: runs, and the calls that join them. */
void gather_runs(Gathering *g);

static inline size_t edge_number(const Asked *a, size_t i) { return a->edges ? (size_t)a->edges[i] : i; }

/* The places of both ends of an edge; false when one is none of the slice. */
static inline bool ends_of(const Gathering *g, size_t edge, uint32_t *source, uint32_t *target) {
    *source = place_of(g, g->asked->src[edge]);
    *target = place_of(g, g->asked->dst[edge]);
    return *source != NONE && *target != NONE;
}

void gather_joins(Gathering *g);

/* Gives every run its node: `parent` becomes it. Nodes get numbers by their first rows here, so that a walk along the rows
 * finds them close to each other. False without memory. */
bool gather_nodes(Gathering *g);

/* The walks' number of an event's node. */
static inline uint32_t node_at(const Gathering *g, uint32_t place) { return g->runs.items[g->run_of[place]].parent; }

/* The answer's number of a node. */
static inline uint32_t ranked_node(const Gathering *g, uint32_t node) { return g->rank ? g->rank[node] : node; }

#endif
