#include "path.h"

#include <stdlib.h>

/* Bits of the table of kinds. */
enum { PASSIVE = 1, OPENING = 2, ROOT_OPENING = 4, SCOPE_ENDS = 8, ACQUIRES = 16 };

/* An end of an edge; 0, and bad, where there is no such event. */
static inline int64_t end_of_edge(PathWalk *w, const int64_t *ends, uint32_t edge) {
    int64_t row = ends[edge];
    if (row >= 0 && (uint64_t)row < w->plane->events) return row;
    w->bad = ends == w->src ? "src" : "dst";
    return 0;
}

static inline int64_t strand_begin(PathWalk *w, int64_t row) {
    uint32_t strand = w->strand[row];
    if (strand < w->strands) return w->strand_start[strand];
    w->bad = "strand";
    return row;
}

static inline uint32_t graph_region(PathWalk *w, int64_t row) {
    uint32_t region = w->region[row];
    if (region < w->regions) return region;
    w->bad = "region";
    return 0;
}

static inline bool by_adapter(PathWalk *w, int64_t row) {
    uint32_t site = w->site[row];
    if (site < w->sites) return w->adapter[site];
    w->bad = "site";
    return false;
}

static inline uint32_t edge_into(const PathWalk *w, uint32_t at) { return w->plane->out_edge[w->plane->into[at].place]; }

static inline int64_t first_row(const PathWalk *w, uint32_t region) {
    return row_of(w->plane, region, w->plane->start[region]);
}

/* Did an edge to `row` open its region? */
static bool row_opens(PathWalk *w, uint32_t region, int64_t row) {
    if (w->kinds[w->kind[row]] & ACQUIRES) return false;
    int64_t first = first_row(w, region);
    if (!w->state[region].reach) {
        int64_t up_to = first - 1, last = row_of(w->plane, region, w->plane->start[region + 1] - 1);
        uint8_t wanted = w->root[graph_region(w, first)] ? ROOT_OPENING : OPENING;
        while (up_to < last && w->kinds[w->kind[up_to + 1]] & wanted) up_to++;
        Numbers_push(&w->opened, region);
        if (w->opened.failed) return false;
        w->state[region].reach = (uint32_t)(up_to - first + 2);
    }
    return row <= first + (int64_t)w->state[region].reach - 2;
}

/* The first row of the passive records that lead up to `target`, and of what a loop ran before it gave back control. */
static int64_t passive_begin(PathWalk *w, int64_t target) {
    int64_t row = target, start = strand_begin(w, target);
    while (row > start) {
        int64_t known = (int64_t)w->begun[row] - 1;
        if (known >= start && known <= row) {
            row = known;
            break;
        }
        uint8_t kind = w->kinds[w->kind[row - 1]];
        if (kind & PASSIVE) row--;
        else if (kind & SCOPE_ENDS && by_adapter(w, row - 1)) {
            int64_t first = first_row(w, region_of(w->plane, position_of(w->plane, (uint32_t)row - 1)));
            row = first > start ? first : start;
        } else break;
    }
    w->begun[target] = (uint32_t)row + 1;
    return row;
}

/* By targets, then numbers. */
static void sort_keys(PathWalk *w) {
    EdgeKeys *keys = &w->keys;
    uint64_t *spare = keys->count > 32 ? malloc(keys->count * sizeof *spare) : NULL;
    if (keys->count > 32 && !spare) w->failed = true;
    else sort_u64(keys->items, spare, keys->count, 64);
    free(spare);
}

/* The edge among the places [low, high) of `into` that ended a wait after the row before `begin`, or that opened the region. */
static bool latest_edge(PathWalk *w, uint32_t region, uint32_t own, uint32_t low, uint32_t high, int64_t begin, Entry *found) {
    EdgeKeys *keys = &w->keys;
    keys->count = 0;
    for (uint32_t at = low; at < high; at++) {
        uint32_t edge = edge_into(w, at);
        int64_t target = end_of_edge(w, w->dst, edge);
        if (!w->follow[edge] && (w->forward || target <= w->bounds[own])) continue;
        if (w->region[end_of_edge(w, w->src, edge)] != own) EdgeKeys_push(keys, (uint64_t)target << 32 | edge);
    }
    if (!keys->count || !walks_on(w)) return false;
    sort_keys(w);
    if (w->failed) return false;
    size_t best = 0;
    for (size_t i = 1; i < keys->count; i++)
        if (w->ts[w->src[(uint32_t)keys->items[i]]] > w->ts[w->src[(uint32_t)keys->items[best]]]) best = i;
    uint32_t edge = (uint32_t)keys->items[best];
    int64_t entry = w->dst[edge];
    bool fresh = begin <= strand_begin(w, entry), waited = fresh || w->ts[begin - 1] < w->ts[w->src[edge]];
    if (!waited && !row_opens(w, region, entry)) return false;
    *found = (Entry){entry, edge, w->pool.count, 0, region};
    for (size_t i = 0; waited && i < keys->count; i++)
        if (i != best) EventRows_push(&w->pool, w->src[(uint32_t)keys->items[i]]);
    if (!fresh) EventRows_push(&w->pool, begin - 1);
    found->number = w->pool.count - found->rivals;
    return true;
}

/* Where the path to an event entered the event's region. */
static Entry entry_before(PathWalk *w, uint32_t region, uint32_t position, int64_t event) {
    uint32_t low = w->plane->in_first[region], place = last_in(w->plane, region, position), own = graph_region(w, event);
    Entry found;
    while (place > low && walks_on(w)) {
        int64_t target = end_of_edge(w, w->dst, edge_into(w, place - 1));
        if (target > event) w->bad = "dst";
        if (w->ts[target] <= w->since) return (Entry){target, -1, 0, 0, region};
        /* The edges into one run of passive records end one wait together. */
        int64_t begin = passive_begin(w, target);
        uint32_t first = place - 1;
        while (first > low && end_of_edge(w, w->dst, edge_into(w, first - 1)) >= begin) first--;
        if (walks_on(w) && latest_edge(w, region, own, first, place, begin, &found)) return found;
        place = first;
    }
    int64_t row = first_row(w, region);
    if (w->forward && w->bounds[own] > row) row = w->bounds[own];
    return (Entry){row, -1, 0, 0, region};
}

/* The entry of a scope that the strand ran. It has no edge when the scope began later than its cause, because the strand
 * was busy until then. */
static Entry entry_of_nested(PathWalk *w, Entry entry, int64_t first, int64_t start) {
    if (entry.edge < 0) return (Entry){first, -1, 0, 0, entry.region};
    if (first <= start || !row_opens(w, entry.region, entry.row)) return entry;
    if (w->ts[first - 1] >= w->ts[w->src[entry.edge]]) return (Entry){first, -1, 0, 0, entry.region};
    EventRows_push(&w->pool, first - 1);
    return (Entry){entry.row, entry.edge, w->pool.count - 1, 1, entry.region};
}

/* The entry into a region that holds for an event of it. */
static Entry entry_known(PathWalk *w, uint32_t region, uint32_t position, int64_t event) {
    size_t place = w->state[region].covered;
    /* Another region may have left its place there. */
    bool known = place < w->entries.count && w->entries.items[place].region == region;
    if (known && w->entries.items[place].row <= event) return w->entries.items[place];
    Entry entry = entry_before(w, region, position, event);
    if (known) w->entries.items[place] = entry;
    else {
        w->state[region].covered = (uint32_t)w->entries.count;
        Entries_push(&w->entries, entry);
    }
    return entry;
}

/* Stores the rows from the path's entry into the event's strand up to the event, the latest first. Returns the entry. */
static Entry along_strand(PathWalk *w, int64_t event) {
    uint32_t home = NONE;
    int64_t start = strand_begin(w, event);
    Entry entry = {event, -1, 0, 0, 0};
    while (walks_on(w)) {
        uint32_t position = position_of(w->plane, (uint32_t)event), region = region_of(w->plane, position);
        if (home == NONE) home = region;
        entry = entry_known(w, region, position, event);
        int64_t other = event;
        while (other > entry.row && w->region[other] == w->region[event] && w->ts[other] > w->since) other--;
        if (other >= entry.row && w->region[other] != w->region[event]) {
            Stretches_push(&w->stretches, (Stretch){other + 1, event + 1});
            event = other;
            continue;
        }
        if (other >= entry.row && w->ts[other] <= w->since) {
            Stretches_push(&w->stretches, (Stretch){other, event + 1});
            break;
        }
        int64_t first = first_row(w, region);
        if (region != home) entry = entry_of_nested(w, entry, first, start);
        if (entry.row > event) w->bad = "bounds";
        Stretches_push(&w->stretches, (Stretch){entry.row, event + 1});
        if (region == home || entry.edge >= 0 || first <= start) break;
        event = first - 1;
    }
    return entry;
}

/* Is a row in one of these stretches, in descending order? */
static bool in_stretches(const Stretch *stretches, size_t count, int64_t row) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stretches[middle].low > row) low = middle + 1;
        else high = middle;
    }
    return low < count && row < stretches[low].stop;
}

/* The delay of an event after its rivals, except those in the piece that ends with it; -1 without rivals. */
static int64_t slack_of(const PathWalk *w, int64_t event, size_t first_rival, size_t first_stretch) {
    int64_t slack = -1;
    for (size_t i = first_rival; i < w->rivals.count; i++) {
        int64_t rival = w->rivals.items[i];
        if (in_stretches(w->stretches.items + first_stretch, w->stretches.count - first_stretch, rival)) continue;
        int64_t late = w->ts[event] > w->ts[rival] ? w->ts[event] - w->ts[rival] : 0;
        if (slack < 0 || late < slack) slack = late;
    }
    return slack;
}

void walk_path(PathWalk *w, int64_t event) {
    size_t waited = 0;
    while (walks_on(w) && !(w->cancelled = is_cancelled(w->thrown, 0))) {
        size_t first = w->stretches.count;
        w->mark[event] = 1;
        w->entries.count = w->pool.count = 0;
        Entry found = along_strand(w, event);
        /* Without the piece nothing says where the mark is. */
        if (w->stretches.count == first) {
            w->mark[event] = 0;
            return;
        }
        if (!walks_on(w)) return;
        int64_t source = found.edge < 0 ? -1 : end_of_edge(w, w->src, (uint32_t)found.edge);
        /* Clocks that disagree can close a circle. */
        if (source >= 0 && w->mark[source]) source = -1;
        if (w->ts[w->stretches.items[w->stretches.count - 1].low] <= w->since) source = -1;
        int64_t slack = slack_of(w, event, waited, first);
        waited = w->rivals.count;
        for (size_t i = 0; source >= 0 && i < found.number; i++) EventRows_push(&w->rivals, w->pool.items[found.rivals + i]);
        PathPieces_push(&w->pieces, (PathPiece){source < 0 ? -1 : found.edge, slack, (int64_t)(w->stretches.count - first),
                                                (int64_t)(w->rivals.count - waited)});
        if (source < 0 || w->ts[source] <= w->since) return;
        event = source;
    }
}
