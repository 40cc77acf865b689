/* The parts of a slice that require a look at every event: its runs of one label become nodes, whose events, calls,
 * times and edges are summed in two passes over the rows.
 *
 * A *place* is an event's number among the requested rows. A run is a sequence of adjacent events in a region with
 * one label. Edges of the slice, and calls that continue after interleaved calls, join runs of one label to nodes.
 * Invariants: an index in a column is always checked before use; nodes are sorted by their first time, then by the
 * region of their first event, then by its row. */
#ifndef CLEW_GATHER_H
#define CLEW_GATHER_H

#include "cancellation.h"
#include "plane.h"
#include "slice.h"

#include "trace_format.h"

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

static void cursor_move(const Plane *plane, Cursor *c, uint64_t row) {
    uint32_t low = c->stop ? c->at + 1 : 0, high = plane->runs;
    /* Mostly it is the next one. */
    uint32_t run = plane->by_row[low];
    if (row >= plane->run_row[run] + (uint64_t)(run_end(plane, run) - run_begin(plane, run))) {
        while (high - low > 1) {
            uint32_t middle = low + (high - low) / 2;
            if (plane->run_row[plane->by_row[middle]] <= row) low = middle;
            else high = middle;
        }
        run = plane->by_row[low];
    }
    c->at = low;
    c->begin = run_begin(plane, run);
    c->region = plane->whole ? run : region_of(plane, c->begin);
    c->first = plane->run_row[run];
    c->stop = c->first + (run_end(plane, run) - c->begin);
}

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

static inline uint32_t code_of(Gathering *g, size_t place, uint64_t row) {
    const Asked *a = g->asked;
    if (a->names.codes) return a->names.codes[place];
    if (a->names.by_site) {
        int64_t owner = value_at(a->owner, row);
        if (owner >= 0 && (uint64_t)owner < a->plane->events) return site_code(g, (uint64_t)owner);
        uint32_t site = a->site[row];
        if (site < a->names.sites && a->names.named[site]) return a->names.by_site[site];
    }
    return strand_code(g, row);
}

/* The label of what runs right after an event; NONE where no recorded call does. */
static inline uint32_t running_after(Gathering *g, size_t place, uint64_t row) {
    const Asked *a = g->asked;
    if (a->names.running) return a->names.running[place];
    int64_t inner = value_at(a->inner, row);
    if (inner < 0 || (uint64_t)inner >= a->plane->events) return NONE;
    return a->names.by_site ? site_code(g, (uint64_t)inner) : strand_code(g, row);
}

static inline uint32_t root_of(Run *runs, uint32_t run) {
    while (runs[run].parent != run) {
        runs[run].parent = runs[runs[run].parent].parent;
        run = runs[run].parent;
    }
    return run;
}

static inline void join_runs(Run *runs, uint32_t a, uint32_t b) {
    a = root_of(runs, a);
    b = root_of(runs, b);
    if (a < b) runs[b].parent = a;
    else runs[a].parent = b;
}

/* The place of an event of the same region as a run, NONE when it is none of the slice or lies elsewhere. */
static inline uint32_t beside(const Gathering *g, int64_t row, uint32_t run) {
    uint32_t place = place_of(g, row);
    if (place == NONE || g->runs.items[g->run_of[place]].region != g->runs.items[run].region) return NONE;
    return place;
}

/* The first walk: runs, and the calls that join them. */
static void gather_runs(Gathering *g) {
    const Asked *a = g->asked;
    Cursor c = {0};
    /* What is not written to takes no memory. */
    g->runs = (Runs){malloc((a->count + 1) * sizeof(Run)), 0, a->count + 1, false};
    g->runs.failed = !g->runs.items;
    for (size_t i = 0; i < a->count && !g->runs.failed && !ends_early(g, i); i++) {
        g->looked = i + 1;
        uint64_t row = a->rows ? (uint64_t)a->rows[i] : i;
        if (row >= c.stop) cursor_move(a->plane, &c, row);
        uint32_t position = c.begin + (uint32_t)(row - c.first), code = code_of(g, i, row);
        if (g->mark) g->mark[row] = (uint32_t)i + 1;
        State *last = &g->state[c.region];
        uint32_t run = last->covered;
        if (!last->reach || last->reach != position || g->runs.items[run].code != code) {
            run = (uint32_t)g->runs.count;
            Runs_push(&g->runs, (Run){a->ts[row], (uint32_t)row, a->region[row], code, run});
        } else if (a->ts[row] < g->runs.items[run].first) g->runs.items[run].first = a->ts[row];
        *last = (State){position + 1, run};
        g->run_of[i] = run;
        if (a->given) continue;
        int64_t call = value_at(a->call, row);
        /* A call's first event comes before its others. */
        if (call < 0 || (uint64_t)call >= row) continue;
        uint32_t place = beside(g, call, run);
        if (place == NONE || g->run_of[place] == run) continue;
        if (g->runs.items[g->run_of[place]].code == code) join_runs(g->runs.items, g->run_of[place], run);
    }
}

static inline size_t edge_number(const Asked *a, size_t i) { return a->edges ? (size_t)a->edges[i] : i; }

/* The places of both ends of an edge; false when one is none of the slice. */
static inline bool ends_of(const Gathering *g, size_t edge, uint32_t *source, uint32_t *target) {
    *source = place_of(g, g->asked->src[edge]);
    *target = place_of(g, g->asked->dst[edge]);
    return *source != NONE && *target != NONE;
}

static void gather_joins(Gathering *g) {
    const Asked *a = g->asked;
    uint32_t source, target;
    for (size_t i = 0; i < a->edge_count && !ends_early(g, i); i++) {
        if (!ends_of(g, edge_number(a, i), &source, &target)) continue;
        uint32_t from = g->run_of[source], to = g->run_of[target];
        if (from != to && g->runs.items[from].code == g->runs.items[to].code) join_runs(g->runs.items, from, to);
    }
}

typedef struct {
    int64_t first;
    uint64_t tie; /* region and row of the smallest run */
} Begin;

static int compare_begins(const void *a, const void *b) {
    const Begin *x = *(const Begin *const *)a, *y = *(const Begin *const *)b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->tie > y->tie) - (x->tie < y->tie);
}

/* Numbers that put `begins` in order into `rank`. */
static bool rank_begins(const Begin *begins, size_t count, uint32_t *rank) {
    int64_t least = count ? begins[0].first : 0, most = least;
    for (size_t i = 0; i < count; i++) {
        if (begins[i].first < least) least = begins[i].first;
        if (begins[i].first > most) most = begins[i].first;
    }
    unsigned bits = width(count), all = bits + width((uint64_t)most - (uint64_t)least);
    const Begin **same = malloc((count + 1) * sizeof *same);
    uint64_t *keys = malloc((count + 1) * 2 * sizeof *keys);
    bool done = same && keys;
    /* Times sort as numbers that the place rides along with, when both fit into one; else, and of equal times, by comparing. */
    bool fits = all <= 64;
    for (size_t i = 0; done && i < count; i++) keys[i] = fits ? ((uint64_t)begins[i].first - (uint64_t)least) << bits | i : i;
    if (done && fits) sort_u64(keys, keys + count, count, all);
    for (size_t i = 0, stop; done && i < count; i = stop) {
        for (stop = i + 1; stop < count && (!fits || keys[stop] >> bits == keys[i] >> bits);) stop++;
        if (stop == i + 1) {
            rank[fits ? keys[i] & ((1ull << bits) - 1) : keys[i]] = (uint32_t)i;
            continue;
        }
        for (size_t j = i; j < stop; j++) same[j] = &begins[fits ? keys[j] & ((1ull << bits) - 1) : keys[j]];
        qsort(same + i, stop - i, sizeof *same, compare_begins);
        for (size_t j = i; j < stop; j++) rank[same[j] - begins] = (uint32_t)j;
    }
    free(same);
    free(keys);
    return done;
}

/* Gives every run its node: `parent` becomes it. Nodes get numbers by their first rows here, so that a walk along the rows
 * finds them close to each other. False without memory. */
static bool gather_nodes(Gathering *g) {
    const Asked *a = g->asked;
    Run *runs = g->runs.items;
    size_t count = g->runs.count, nodes = 0;
    if (a->given) {
        for (size_t i = 0; i < a->count; i++) {
            runs[g->run_of[i]].parent = a->given[i];
            if (a->given[i] >= nodes) nodes = (size_t)a->given[i] + 1;
        }
        g->node_count = nodes;
        return true;
    }
    Begin *begins = malloc((count + 1) * sizeof *begins);
    uint32_t *number = malloc((count + 1) * sizeof *number);
    bool done = begins && number;
    for (uint32_t run = 0; done && run < count; run++) {
        /* The root has the smallest number, so it has been seen. */
        uint32_t root = root_of(runs, run);
        uint64_t tie = (uint64_t)runs[run].region << 32 | runs[run].row;
        if (root == run) {
            number[run] = (uint32_t)nodes;
            begins[nodes++] = (Begin){runs[run].first, tie};
            continue;
        }
        Begin *begin = &begins[number[run] = number[root]];
        if (runs[run].first < begin->first) begin->first = runs[run].first;
        if (tie < begin->tie) begin->tie = tie;
    }
    done = done && (g->rank = malloc((nodes + 1) * sizeof *g->rank)) && rank_begins(begins, nodes, g->rank);
    for (size_t run = 0; done && run < count; run++) runs[run].parent = number[run];
    g->node_count = nodes;
    free(begins);
    free(number);
    return done;
}

/* The walks' number of an event's node. */
static inline uint32_t node_at(const Gathering *g, uint32_t place) { return g->runs.items[g->run_of[place]].parent; }

/* The answer's number of a node. */
static inline uint32_t ranked_node(const Gathering *g, uint32_t node) { return g->rank ? g->rank[node] : node; }

#endif
