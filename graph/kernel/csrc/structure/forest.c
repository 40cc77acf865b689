#include "forest.h"

#include <stdlib.h>

static uint32_t ranked(const uint64_t *bits, const uint32_t *rank, uint32_t at) {
    uint32_t before = rank[at >> 6];
    if (at & 63) before += (uint32_t)__builtin_popcountll(bits[at >> 6] & ((1ull << (at & 63)) - 1));
    return before;
}

static uint32_t *rank_bits(const uint64_t *bits, uint32_t count) {
    uint32_t words = count >> 6, *rank = malloc((words + 1) * sizeof *rank), sum = 0;
    if (!rank) return NULL;
    for (uint32_t word = 0; word < words; word++) {
        rank[word] = sum;
        sum += (uint32_t)__builtin_popcountll(bits[word]);
    }
    rank[words] = sum;
    return rank;
}

static inline uint32_t sides_before(const Level *l, uint32_t place) { return ranked(l->plane->follow, l->side_rank, place); }

static inline uint32_t pieces_before(const Level *l, uint32_t region) { return ranked(l->top, l->piece_rank, region); }

static inline int64_t last_time(const Level *l, uint32_t region) {
    return l->ts[row_of(l->plane, region, l->plane->start[region + 1] - 1)];
}

void level_free(Level *l) {
    free(l->root_region);
    free(l->side);
    free(l->side_rank);
    free(l->piece);
    free(l->top);
    free(l->piece_rank);
    free(l->tail);
}

/* The region that each hangs under, and the bits of `top`. */
static bool level_parents(Level *l, uint32_t *parent) {
    const Plane *plane = l->plane;
    Numbers above = {0};
    for (uint32_t region = 0; region < plane->regions && !above.failed; region++) {
        while (above.count && plane->end[above.items[above.count - 1]] <= region) above.count--;
        parent[region] = above.count ? above.items[above.count - 1] : NONE;
        l->roots += !above.count;
        if (!above.count || l->labels[region] != l->labels[parent[region]]) {
            l->top[region >> 6] |= 1ull << (region & 63);
            l->pieces++;
        }
        if (plane->end[region] > region + 1) Numbers_push(&above, region);
    }
    free(above.items);
    return !above.failed;
}

/* Per region the region of its piece's last time, among itself and what hangs below it in the same piece; and `tail`. */
static bool level_tails(Level *l, const uint32_t *parent, uint32_t *latest) {
    const Plane *plane = l->plane;
    int64_t *last = malloc(((size_t)plane->regions + 1) * sizeof *last);
    if (!last) return false;
    for (uint32_t region = 0; region < plane->regions; region++) {
        if (plane->whole && region + 16 < plane->regions)
            __builtin_prefetch(&l->ts[row_of(plane, region + 16, plane->start[region + 17] - 1)]);
        last[region] = last_time(l, region);
        latest[region] = NONE;
    }
    for (uint32_t region = plane->regions; region-- > 0;) {
        /* The regions below have been visited; `latest` is the best of them so far. */
        uint32_t best = latest[region];
        if (best == NONE || last[best] <= last[region]) best = latest[region] = region;
        l->tail[region] = NONE;
        if (parent[region] == NONE) continue;
        uint32_t *above = &latest[parent[region]];
        if (l->labels[region] == l->labels[parent[region]] && (*above == NONE || last[*above] < last[best])) *above = best;
        l->tail[region] = *above;
    }
    free(last);
    return true;
}

static void level_pieces(Level *l, const uint32_t *parent, const uint32_t *latest, uint32_t *piece_of) {
    const Plane *plane = l->plane;
    uint32_t piece = 0;
    for (uint32_t region = 0; region < plane->regions; region++) {
        uint32_t size = plane->start[region + 1] - plane->start[region];
        if (bit(l->top, region)) {
            piece_of[region] = piece;
            uint32_t above = parent[region] == NONE ? NONE : piece_of[parent[region]];
            l->piece[piece++] = (Piece){l->ts[row_of(plane, region, plane->start[region])],
                                        last_time(l, latest[region]),
                                        0,
                                        l->labels[region],
                                        above,
                                        region};
        } else piece_of[region] = piece_of[parent[region]];
        l->piece[piece_of[region]].before += size;
    }
    uint32_t before = 0;
    for (uint32_t i = 0; i <= l->pieces; i++) {
        uint32_t size = i < l->pieces ? l->piece[i].before : 0;
        l->piece[i].before = before;
        before += size;
    }
}

/* The side edges with their pieces; what belongs to the level only by its pieces is made with it all the same. */
static void level_sides(Level *l, const uint32_t *piece_of, uint32_t *root_of) {
    const Plane *plane = l->plane;
    uint32_t root = 0, side = 0;
    for (uint32_t region = 0; region < plane->regions; root++) {
        l->root_region[root] = region;
        for (uint32_t stop = plane->end[region]; region < stop; region++) root_of[region] = root;
    }
    for (uint32_t region = 0; region < plane->regions; region++)
        for (uint32_t place = plane->out_first[region]; place < plane->out_first[region + 1]; place++)
            if (bit(plane->follow, place))
                l->side[side++] = (Side){plane->out[place].far, root_of[plane->out[place].far_region], piece_of[region], place};
}

bool level_make(Level *l, const Plane *plane, const uint32_t *labels, const int64_t *ts) {
    *l = (Level){.plane = plane, .labels = labels, .ts = ts};
    size_t regions = (size_t)plane->regions + 1;
    uint32_t *parent = malloc(regions * 4), *latest = malloc(regions * 4), *numbers = malloc(regions * 4);
    l->top = calloc((regions >> 6) + 1, 8);
    l->tail = malloc(regions * 4);
    bool done = parent && latest && numbers && l->top && l->tail && level_parents(l, parent) &&
                level_tails(l, parent, latest) && (l->side_rank = rank_bits(plane->follow, plane->edges)) != NULL &&
                (l->piece_rank = rank_bits(l->top, plane->regions)) != NULL;
    if (done) {
        l->sides = sides_before(l, plane->edges);
        l->root_region = malloc(((size_t)l->roots + 1) * sizeof *l->root_region);
        l->piece = malloc(((size_t)l->pieces + 1) * sizeof *l->piece);
        l->side = malloc(((size_t)l->sides + 1) * sizeof *l->side);
        done = l->root_region && l->piece && l->side;
    }
    if (done) {
        level_pieces(l, parent, latest, numbers);
        level_sides(l, numbers, parent);
    }
    free(parent);
    free(latest);
    free(numbers);
    if (!done) level_free(l);
    return done;
}

void query_free(Query *q) {
    free(q->roots);
    free(q->parent);
    free(q->number);
    free(q->sides.items);
    free(q->reached.items);
    free(q->nested.items);
}

bool query_make(Query *q, const Level *l) {
    *q = (Query){.roots = malloc(((size_t)l->roots + 1) * sizeof(Root)),
                 .parent = malloc(((size_t)l->pieces + 1) * 4),
                 .number = malloc(((size_t)l->pieces + 1) * 4)};
    if (!q->roots || !q->parent || !q->number) {
        query_free(q);
        return false;
    }
    const Plane *plane = l->plane;
    for (uint32_t i = 0; i < l->roots; i++) {
        uint32_t region = l->root_region[i], end = plane->end[region];
        q->roots[i] = (Root){plane->start[region],
                             plane->start[end],
                             sides_before(l, plane->out_first[region]),
                             sides_before(l, plane->out_first[end]),
                             pieces_before(l, region),
                             pieces_before(l, end),
                             NONE,
                             NONE};
    }
    return true;
}

/* The first region below `region` that hangs on one of its edges from `place` on, or its end. */
static uint32_t first_child(const Plane *plane, uint32_t region, uint32_t place) {
    uint32_t stop = plane->out_first[region + 1];
    while (place < stop) {
        uint64_t word = plane->tree[place >> 6] >> (place & 63);
        if (word) {
            place += (uint32_t)__builtin_ctzll(word);
            return place < stop ? plane->out[place].far_region : plane->end[region];
        }
        place = (place | 63) + 1;
    }
    return plane->end[region];
}

static inline void add_piece(Query *q, uint32_t piece) {
    q->parent[piece] = piece;
    q->number[piece] = NONE;
}

static void add_nested(Query *q, uint32_t low, uint32_t high, uint32_t from, uint32_t to) {
    if (low == high) return;
    for (uint32_t piece = low; piece < high; piece++) add_piece(q, piece);
    Nesteds_push(&q->nested, (Nested){low, high, from, to});
}

/* A query: its start, and the region that must not come into reach again because all regions below the start are counted
 * already (NONE when the start is a root, which is reached like any other). */
typedef struct {
    const Level *level;
    Query *query;
    Condensed *into;
    uint32_t region, position, avoid;
    uint32_t piece; /* that the start's region lies in */
    uint32_t child; /* the first region below the start */
    bool tangled;
} Walk;

/* A tree is entered behind its beginning, or once more: `place` is the root's first edge from `far` on. */
static void enter_late(Walk *w, Root *root, uint32_t number, uint32_t far, uint32_t place) {
    const Level *l = w->level;
    const Plane *plane = l->plane;
    Query *q = w->query;
    uint32_t region = l->root_region[number], below = plane->end[region], own = plane->out_first[region + 1];
    if (root->bound == NONE) {
        Numbers_push(&q->reached, number);
        add_piece(q, root->piece);
    } else {
        below = root->child;
        own = first_out(plane, region, root->bound);
    }
    uint32_t child = first_child(plane, region, place);
    root->bound = far;
    root->child = child;
    Range ranges[] = {{sides_before(l, place), sides_before(l, own)},
                      {sides_before(l, plane->out_first[child]), sides_before(l, plane->out_first[below])}};
    for (int i = 0; i < 2; i++)
        if (ranges[i].low < ranges[i].high) Ranges_push(&q->sides, ranges[i]);
    add_nested(q, pieces_before(l, child), pieces_before(l, below), NONE, NONE);
    if (w->avoid != NONE && child <= w->avoid && w->avoid < below) w->tangled = true;
}

static inline void enter(Walk *w, uint32_t number, uint32_t far, uint32_t place) {
    Query *q = w->query;
    Root *root = &q->roots[number];
    if (far >= root->bound) return;
    if (root->bound != NONE || far != root->start) {
        enter_late(w, root, number, far, place);
        return;
    }
    Numbers_push(&q->reached, number);
    root->bound = far;
    add_piece(q, root->piece);
    if (root->sides < root->sides_stop) Ranges_push(&q->sides, (Range){root->sides, root->sides_stop});
    add_nested(q, root->piece + 1, root->pieces_stop, NONE, NONE);
    if (w->avoid != NONE && w->position >= root->start && w->position < root->stop) w->tangled = true;
}

/* Follows side edges; what comes from piece `from` comes from `to` in this query. */
static void walk_sides(Walk *w, Range range, uint32_t from, uint32_t to) {
    const Level *l = w->level;
    Query *q = w->query;
    for (uint32_t i = range.low; i < range.high; i++) {
        if (i + 8 < range.high) __builtin_prefetch(&q->roots[l->side[i + 8].root], 1);
        Side side = l->side[i];
        Root *root = &q->roots[side.root];
        if (side.far < root->bound) enter(w, side.root, side.far, l->plane->out[side.place].next);
        uint32_t source = side.piece == from ? to : side.piece;
        uint32_t label = source == l->pieces ? l->labels[w->region] : l->piece[source].label;
        if (label == l->piece[root->piece].label) join(q->parent, source, root->piece);
        else Keys_push(&w->into->pairs, (uint64_t)source << 32 | root->piece);
    }
}

/* The start lies inside a tree: what is reached of its piece is a piece of its own, as the way to it is not in the slice. */
static void start_inside(Walk *w) {
    const Level *l = w->level;
    const Plane *plane = l->plane;
    uint32_t region = w->region, place = first_out(plane, region, w->position), below = plane->end[region];
    w->avoid = region;
    w->piece = pieces_before(l, region + 1) - 1;
    while (plane->end[l->piece[w->piece].top] <= region) w->piece = l->piece[w->piece].parent;
    w->child = first_child(plane, region, place);
    add_piece(w->query, l->pieces);
    add_nested(w->query, pieces_before(l, w->child), pieces_before(l, below), w->piece, l->pieces);
    Range own = {sides_before(l, place), sides_before(l, plane->out_first[region + 1])};
    Range further = {sides_before(l, plane->out_first[w->child]), sides_before(l, plane->out_first[below])};
    walk_sides(w, own, w->piece, l->pieces);
    walk_sides(w, further, w->piece, l->pieces);
}

static void add_to_vertex(Walk *w, uint32_t piece, uint32_t label, int64_t events, int64_t first, int64_t last,
                          uint32_t region) {
    Query *q = w->query;
    Vertices *vertices = &w->into->vertices;
    uint32_t root = find(q->parent, piece);
    if (q->number[root] == NONE) {
        q->number[root] = (uint32_t)vertices->count;
        Vertices_push(vertices, (Vertex){INT64_MAX, INT64_MIN, 0, label, region});
    }
    if (!vertices->failed) vertex_add(&vertices->items[q->number[root]], events, first, last, region);
}

static inline void add_whole(Walk *w, uint32_t number) {
    const Piece *piece = &w->level->piece[number];
    add_to_vertex(w, number, piece->label, (int64_t)piece[1].before - piece->before, piece->first, piece->last, piece->top);
}

/* A piece from `position` of its top region on, of whose children those from `child` on are in. */
static void add_rest(Walk *w, uint32_t number, uint32_t region, uint32_t position, uint32_t child) {
    const Level *l = w->level;
    const Plane *plane = l->plane;
    uint32_t below = plane->end[region];
    int64_t events = (int64_t)plane->start[region + 1] - position + plane->start[below] - plane->start[child];
    events -= (int64_t)l->piece[pieces_before(l, below)].before - l->piece[pieces_before(l, child)].before;
    int64_t last = last_time(l, region);
    if (child < below && l->tail[child] != NONE) {
        int64_t other = last_time(l, l->tail[child]);
        if (other > last) last = other;
    }
    add_to_vertex(w, number, l->labels[region], events, l->ts[row_of(plane, region, position)], last, region);
}

static void walk_sum(Walk *w) {
    const Level *l = w->level;
    Query *q = w->query;
    if (w->avoid != NONE) add_rest(w, l->pieces, w->region, w->position, w->child);
    for (size_t i = 0; i < q->reached.count; i++) {
        if (i + 8 < q->reached.count) __builtin_prefetch(&q->roots[q->reached.items[i + 8]]);
        Root *root = &q->roots[q->reached.items[i]];
        if (root->bound == root->start) add_whole(w, root->piece);
        else add_rest(w, root->piece, l->root_region[q->reached.items[i]], root->bound, root->child);
    }
    for (size_t i = 0; i < q->nested.count; i++) {
        Nested nested = q->nested.items[i];
        for (uint32_t piece = nested.low; piece < nested.high; piece++) {
            uint32_t parent = l->piece[piece].parent;
            add_whole(w, piece);
            Keys_push(&w->into->pairs, (uint64_t)(parent == nested.from ? nested.to : parent) << 32 | piece);
        }
    }
    if (w->into->vertices.failed || w->into->pairs.failed) return;
    uint64_t *pairs = w->into->pairs.items;
    for (size_t i = 0; i < w->into->pairs.count; i++) {
        uint32_t source = find(q->parent, (uint32_t)(pairs[i] >> 32)), target = find(q->parent, (uint32_t)pairs[i]);
        pairs[i] = (uint64_t)q->number[source] << 32 | q->number[target];
    }
}

bool level_condense(const Level *l, Query *q, uint32_t position, Condensed *into, bool *tangled) {
    uint32_t region = region_of(l->plane, position);
    Walk w = {.level = l, .query = q, .into = into, .region = region, .position = position, .avoid = NONE};
    uint32_t root = last_at_most(l->root_region, 0, l->roots, region);
    q->sides.count = q->reached.count = q->nested.count = 0;
    if (l->root_region[root] == region) enter(&w, root, position, first_out(l->plane, region, position));
    else start_inside(&w);
    for (size_t i = 0; i < q->sides.count && !w.tangled; i++) {
        if (i + 8 < q->sides.count) __builtin_prefetch(&l->side[q->sides.items[i + 8].low]);
        if (i + 4 < q->sides.count) __builtin_prefetch(&q->roots[l->side[q->sides.items[i + 4].low].root], 1);
        walk_sides(&w, q->sides.items[i], NONE, NONE);
    }
    *tangled = w.tangled;
    bool done = !(q->sides.failed || q->reached.failed || q->nested.failed);
    if (done && !w.tangled) walk_sum(&w);
    for (size_t i = 0; i < q->reached.count; i++) q->roots[q->reached.items[i]].bound = NONE;
    return done && (w.tangled || condensed_finish(into));
}
