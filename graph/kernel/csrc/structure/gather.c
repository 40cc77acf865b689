#include "gather.h"

#include <stdlib.h>

void cursor_move(const Plane *plane, Cursor *c, uint64_t row) {
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

void gather_runs(Gathering *g) {
    const Asked *a = g->asked;
    Cursor c = {0};
    /* Pages that are not written to take no memory. */
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

void gather_joins(Gathering *g) {
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

bool gather_nodes(Gathering *g) {
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
