#include "gather_sums.h"

#include <stdlib.h>
#include <string.h>

#include "plane.h"
#include "slice.h"
#include "trace_format.h"

enum { CALL = 4, NEXT = 5 };

void between_forget(Between *b) {
    free(b->caller);
    free(b->calls);
    free(b->further.items);
    free(b->next.items);
    b->caller = b->calls = NULL;
    b->further.items = b->next.items = NULL;
}

void between_free(Between *b) {
    between_forget(b);
    free(b->edges.items);
}

static inline uint64_t pair_of(uint32_t source, uint32_t target) { return (uint64_t)source << 32 | target; }

static inline void add_call(Between *b, uint32_t caller, uint32_t called) {
    if (caller == called) return;
    if (b->caller[called] == NONE) b->caller[called] = caller;
    if (b->caller[called] == caller) b->calls[called]++;
    else Pairs_push(&b->further, pair_of(caller, called));
}

static inline void add_next(Between *b, uint32_t before, uint32_t after) {
    if (before != after && b->caller[after] != before && b->caller[before] != after)
        Pairs_push(&b->next, pair_of(before, after));
}

/* The recorded call that ran when event `row` entered one, -1 for none. */
static inline int64_t around(const Asked *a, uint64_t row) {
    return row && a->strand[row - 1] == a->strand[row] ? value_at(a->inner, row - 1) : -1;
}

static void add_enter(Gathering *g, Between *b, Node *node, size_t place, uint64_t row, uint32_t before, size_t *call) {
    const Asked *a = g->asked;
    uint32_t run = g->run_of[place], caller = beside(g, around(a, row), run);
    bool outermost = caller == NONE || g->runs.items[g->run_of[caller]].code != g->runs.items[run].code;
    node->calls++;
    node->kinds |= HAS_ENTER;
    if (*call >= a->calls || a->enter[*call] != (int64_t)row) {
        size_t low = 0, high = a->calls;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (a->enter[middle] < (int64_t)row) low = middle + 1;
            else high = middle;
        }
        *call = low;
    }
    if (*call < a->calls && a->enter[*call] == (int64_t)row) {
        if (outermost) node->total_ns += a->total[*call];
        node->waiting_ns += outermost ? a->waiting[*call] : a->paused[*call];
        ++*call;
    }
    if (before != NONE) add_call(b, node_at(g, caller != NONE ? caller : before), node_at(g, (uint32_t)place));
}

/* The work between two neighbours, given to what ran in it. */
static void add_work(Gathering *g, uint32_t before, uint64_t row, uint32_t place) {
    const Asked *a = g->asked;
    uint32_t run = g->run_of[before], running = running_after(g, before, row), owner = NONE;
    if (running == NONE || row + 1 >= a->plane->events) return;
    if (g->runs.items[run].code == running) owner = before;
    else {
        uint32_t inner = beside(g, value_at(a->inner, row), run);
        if (inner != NONE && g->runs.items[g->run_of[inner]].code == running) owner = inner;
        else if (g->runs.items[g->run_of[place]].code == running) owner = place;
    }
    if (owner != NONE) g->nodes[node_at(g, owner)].self_ns += a->ts[row + 1] - a->ts[row];
}

static void gather_sums(Gathering *g, Between *b) {
    const Asked *a = g->asked;
    Cursor c = {0};
    size_t call = 0;
    for (size_t i = 0; i < a->count && !ends_early(g, i); i++) {
        uint64_t row = a->rows ? (uint64_t)a->rows[i] : i;
        if (row >= c.stop) cursor_move(a->plane, &c, row);
        uint32_t position = c.begin + (uint32_t)(row - c.first);
        /* The first walk left one more than the region's last position here, so no first event mistakes it for its own. */
        State *last = &g->state[c.region];
        uint32_t before = last->reach == position && position > a->plane->start[c.region] ? last->covered : NONE;
        *last = (State){position + 1, (uint32_t)i};
        Node *node = &g->nodes[node_at(g, (uint32_t)i)];
        bool fresh = !node->events++;
        if (fresh) node->label = g->runs.items[g->run_of[i]].code;
        if (fresh || a->ts[row] < a->ts[node->first_event]) node->first_event = (uint32_t)row;
        if (fresh || a->ts[row] > a->ts[node->last_event]) node->last_event = (uint32_t)row;
        if (node->strand != a->strand[row] + 1) {
            node->strand = a->strand[row] + 1;
            node->strands++;
        }
        uint8_t kind = a->kind[row];
        if (kind == KIND_ENTER) add_enter(g, b, node, i, row, before, &call);
        else if (before != NONE) add_next(b, node_at(g, before), node_at(g, (uint32_t)i));
        if (kind == KIND_REQUEST) node->kinds |= HAS_REQUEST;
        if (kind == KIND_UNWIND) node->errors++;
        if (before == NONE) continue;
        uint64_t earlier = a->rows ? (uint64_t)a->rows[before] : before;
        if (!a->idle[earlier]) add_work(g, before, earlier, (uint32_t)i);
    }
}

static void gather_edges(Gathering *g, Between *b) {
    const Asked *a = g->asked;
    uint32_t source, target;
    for (size_t i = 0; i < a->edge_count && !ends_early(g, i); i++) {
        size_t edge = edge_number(a, i);
        if (!ends_of(g, edge, &source, &target)) continue;
        source = node_at(g, source);
        target = node_at(g, target);
        if (source == target) continue;
        int64_t latency = a->ts[a->dst[edge]] - a->ts[a->src[edge]];
        Edges_push(&b->edges, (Edge){source, target, a->edge_kind[edge], a->channel[edge], 1, latency});
    }
}

static bool holds_pair(const Pairs *pairs, uint64_t pair) {
    size_t low = 0, high = pairs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pairs->items[middle] < pair) low = middle + 1;
        else high = middle;
    }
    return low < pairs->count && pairs->items[low] == pair;
}

static bool sort_pairs(Pairs *pairs) {
    uint64_t *spare = malloc((pairs->count + 1) * sizeof *spare);
    if (spare && pairs->count) sort_u64(pairs->items, spare, pairs->count, 64);
    free(spare);
    return spare != NULL;
}

/* One edge for each stretch of equal pairs. */
static void push_pairs(Edges *edges, const Pairs *pairs, uint32_t kind) {
    for (size_t i = 0; i < pairs->count;) {
        size_t stop = i + 1;
        while (stop < pairs->count && pairs->items[stop] == pairs->items[i]) stop++;
        Edges_push(edges,
                   (Edge){(uint32_t)(pairs->items[i] >> 32), (uint32_t)pairs->items[i], kind, 0, (int64_t)(stop - i), 0});
        i = stop;
    }
}

static int compare_edges(const void *x, const void *y) {
    const Edge *a = x, *b = y;
    if (a->target != b->target) return a->target < b->target ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return (a->channel > b->channel) - (a->channel < b->channel);
}

size_t merge_edges(const Edges *edges, size_t nodes, Edge *sorted) {
    size_t count = edges->count, kept = 0;
    size_t *begin = calloc(nodes + 2, sizeof *begin);
    if (!begin) return SIZE_MAX;
    for (size_t i = 0; i < count; i++) begin[edges->items[i].source + 2]++;
    for (size_t node = 2; node < nodes + 2; node++) begin[node] += begin[node - 1];
    for (size_t i = 0; i < count; i++) sorted[begin[edges->items[i].source + 1]++] = edges->items[i];
    for (size_t node = 0; node < nodes; node++) {
        Edge *of = sorted + begin[node];
        size_t many = begin[node + 1] - begin[node], i = 1;
        while (i < many && compare_edges(&of[i - 1], &of[i]) <= 0) i++;
        if (i < many) qsort(of, many, sizeof *of, compare_edges);
    }
    for (size_t i = 0; i < count; i++) {
        Edge *last = kept ? &sorted[kept - 1] : NULL;
        if (last && last->source == sorted[i].source && !compare_edges(last, &sorted[i])) {
            last->count += sorted[i].count;
            last->latency += sorted[i].latency;
        } else sorted[kept++] = sorted[i];
    }
    free(begin);
    return kept;
}

/* The calls and successions between nodes, too, into `edges`. False without memory. */
static bool between_finish(Between *b, size_t nodes) {
    if (b->further.failed || b->next.failed || !sort_pairs(&b->further)) return false;
    size_t kept = 0;
    for (size_t i = 0; i < b->next.count; i++) {
        uint64_t pair = b->next.items[i];
        uint32_t before = (uint32_t)(pair >> 32), after = (uint32_t)pair;
        if (b->caller[after] == before || b->caller[before] == after || holds_pair(&b->further, pair) ||
            holds_pair(&b->further, pair_of(after, before)))
            continue;
        b->next.items[kept++] = pair;
    }
    b->next.count = kept;
    if (!sort_pairs(&b->next)) return false;
    for (uint32_t node = 0; node < nodes; node++)
        if (b->caller[node] != NONE) Edges_push(&b->edges, (Edge){b->caller[node], node, CALL, 0, b->calls[node], 0});
    push_pairs(&b->edges, &b->further, CALL);
    push_pairs(&b->edges, &b->next, NEXT);
    return !b->edges.failed;
}

bool gather(Gathering *g, Between *b) {
    const Asked *a = g->asked;
    gather_runs(g);
    if (g->bad || g->runs.failed) return !g->runs.failed;
    if (!g->cancelled && !a->given) gather_joins(g);
    if (g->cancelled || !gather_nodes(g)) return false;
    g->nodes = calloc(g->node_count + 1, sizeof *g->nodes);
    b->caller = malloc((g->node_count + 1) * sizeof *b->caller);
    b->calls = calloc(g->node_count + 1, sizeof *b->calls);
    if (!g->nodes || !b->caller || !b->calls) return false;
    memset(b->caller, 0xFF, (g->node_count + 1) * sizeof *b->caller);
    gather_sums(g, b);
    if (!g->cancelled) gather_edges(g, b);
    if (g->cancelled || !between_finish(b, g->node_count)) return false;
    for (size_t i = 0; i < b->edges.count; i++) {
        Edge *edge = &b->edges.items[i];
        edge->source = ranked_node(g, edge->source);
        edge->target = ranked_node(g, edge->target);
    }
    return true;
}
