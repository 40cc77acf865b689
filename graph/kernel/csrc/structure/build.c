#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void build_free(Build *b) {
    uint32_t *owned[] = {b->size,       b->run_offset, b->block, b->src_region, b->src_offset, b->dst_region,
                         b->dst_offset, b->order,      b->first, b->parent,     b->rank,       b->graph_region};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static uint32_t *numbers(size_t count) { return malloc((count ? count : 1) * sizeof(uint32_t)); }

static uint32_t *zeros(size_t count) { return calloc(count ? count : 1, sizeof(uint32_t)); }

const char *build_runs(const Input *in, Build *b) {
    if (!(b->size = zeros(in->numbers)) || !(b->run_offset = numbers(in->runs)) || !(b->block = numbers((in->events >> 5) + 1)))
        return "";
    if ((in->runs == 0) != (in->events == 0) || (in->runs && in->run_row[0])) return "run_row";
    uint64_t block = 0;
    for (uint32_t run = 0; run < in->runs; run++) {
        uint64_t begin = in->run_row[run], stop = run + 1 < in->runs ? in->run_row[run + 1] : in->events;
        uint32_t region = in->run_region[run];
        if (stop <= begin || stop > in->events) return "run_row";
        if (region >= in->numbers) return "run_region";
        b->run_offset[run] = b->size[region];
        b->size[region] += (uint32_t)(stop - begin);
        for (; block << 5 < stop; block++) b->block[block] = run;
    }
    b->regions = 0;
    for (uint32_t region = 0; region < in->numbers; region++) b->regions += b->size[region] > 0;
    return NULL;
}

/* Edges lead anywhere in memory: what one needs is called for so many edges before its turn. */
enum { SOON = 16 };

static inline uint32_t run_of(const Input *in, const Build *b, uint32_t row) {
    uint32_t run = b->block[row >> 5];
    while (run + 1 < in->runs && in->run_row[run + 1] <= row) run++;
    return run;
}

const char *build_ends(const Input *in, Build *b) {
    if (!(b->src_region = numbers(in->edges)) || !(b->src_offset = numbers(in->edges)) ||
        !(b->dst_region = numbers(in->edges)) || !(b->dst_offset = numbers(in->edges)))
        return "";
    for (uint32_t edge = 0; edge < in->edges; edge++) {
        uint32_t src = in->src[edge], dst = in->dst[edge];
        if (src >= in->events || dst >= in->events) return "edges";
        if (edge + 2 * SOON < in->edges) {
            uint32_t next = in->dst[edge + SOON], later = in->dst[edge + 2 * SOON];
            if (later < in->events) __builtin_prefetch(b->block + (later >> 5));
            if (next < in->events) {
                __builtin_prefetch(in->run_row + b->block[next >> 5]);
                __builtin_prefetch(in->run_region + b->block[next >> 5]);
                __builtin_prefetch(b->run_offset + b->block[next >> 5]);
            }
        }
        uint32_t run = run_of(in, b, src);
        b->src_region[edge] = in->run_region[run];
        b->src_offset[edge] = b->run_offset[run] + (src - in->run_row[run]);
        run = run_of(in, b, dst);
        b->dst_region[edge] = in->run_region[run];
        b->dst_offset[edge] = b->run_offset[run] + (dst - in->run_row[run]);
    }
    return NULL;
}

/* Sorts the items of each group by (key, item); an item's key is key[item]. False without memory. */
static bool sort_groups(uint32_t *items, const uint32_t *first, uint32_t groups, const uint32_t *key) {
    uint64_t *values = NULL, *spare = NULL;
    size_t room = 0;
    for (uint32_t group = 0; group < groups; group++) {
        size_t count = first[group + 1] - first[group];
        uint32_t *mine = items + first[group];
        if (count < 2) continue;
        if (count == 2) {
            if (key[mine[0]] > key[mine[1]]) {
                uint32_t other = mine[0];
                mine[0] = mine[1];
                mine[1] = other;
            }
            continue;
        }
        if (count > room) {
            free(values);
            free(spare);
            room = count * 2;
            values = malloc(room * sizeof *values);
            spare = malloc(room * sizeof *spare);
            if (!values || !spare) {
                free(values);
                free(spare);
                return false;
            }
        }
        for (size_t i = 0; i < count; i++) values[i] = (uint64_t)key[mine[i]] << 32 | mine[i];
        sort_u64(values, spare, count, 64);
        for (size_t i = 0; i < count; i++) mine[i] = (uint32_t)values[i];
    }
    free(values);
    free(spare);
    return true;
}

bool build_order(const Input *in, Build *b) {
    if (!(b->first = zeros((size_t)in->numbers + 1))) return false;
    bool sorted = true;
    for (uint32_t edge = 0; edge < in->edges; edge++) {
        b->first[b->src_region[edge] + 1]++;
        if (edge && (b->src_region[edge - 1] > b->src_region[edge] ||
                     (b->src_region[edge - 1] == b->src_region[edge] && b->src_offset[edge - 1] > b->src_offset[edge])))
            sorted = false;
    }
    for (uint32_t region = 0; region < in->numbers; region++) b->first[region + 1] += b->first[region];
    if (sorted) return true;
    uint32_t *next = numbers(in->numbers);
    if (!next || !(b->order = numbers(in->edges))) {
        free(next);
        return false;
    }
    memcpy(next, b->first, in->numbers * sizeof *next);
    for (uint32_t edge = 0; edge < in->edges; edge++) b->order[next[b->src_region[edge]]++] = edge;
    free(next);
    return sort_groups(b->order, b->first, in->numbers, b->src_offset);
}

static inline uint32_t ordered(const Build *b, uint32_t place) { return b->order ? b->order[place] : place; }

bool build_parents(const Input *in, Build *b) {
    uint8_t *seen = calloc(in->numbers ? in->numbers : 1, 1);
    if (!seen || !(b->parent = numbers(in->numbers))) {
        free(seen);
        return false;
    }
    memset(b->parent, 0xFF, in->numbers * sizeof *b->parent);
    for (uint32_t edge = 0; edge < in->edges; edge++) {
        if (in->excluded && in->excluded[edge]) continue;
        uint32_t region = b->dst_region[edge];
        b->parent[region] = seen[region] || b->dst_offset[edge] || b->src_region[edge] == region ? NONE : edge;
        seen[region] = 1;
    }
    free(seen);
    return true;
}

/* Numbers the regions below `root`, and it, in preorder; children in the order of their edges. */
static uint32_t build_tree(Build *b, uint32_t root, uint32_t number, Numbers *stack) {
    Numbers_push(stack, root);
    while (stack->count && !stack->failed) {
        uint32_t region = stack->items[--stack->count];
        b->rank[region] = number;
        b->graph_region[number++] = region;
        for (uint32_t place = b->first[region + 1]; place > b->first[region]; place--) {
            uint32_t edge = ordered(b, place - 1), child = b->dst_region[edge];
            if (b->parent[child] == edge) Numbers_push(stack, child);
        }
    }
    return number;
}

/* The rank of what has none yet and was passed on the way up; a graph has fewer regions. */
#define PASSED (NONE - 1)

/* A region of the circle that `region` is in or hangs below. All of what is passed is visited from there. */
static uint32_t build_circle(Build *b, uint32_t region) {
    while (b->rank[region] != PASSED) {
        b->rank[region] = PASSED;
        region = b->src_region[b->parent[region]];
    }
    return region;
}

bool build_forest(const Input *in, Build *b) {
    if (!(b->rank = numbers(in->numbers)) || !(b->graph_region = numbers(b->regions))) return false;
    memset(b->rank, 0xFF, in->numbers * sizeof *b->rank);
    Numbers stack = {0};
    uint32_t number = 0;
    for (uint32_t region = 0; region < in->numbers; region++)
        if (b->size[region] && b->parent[region] == NONE) number = build_tree(b, region, number, &stack);
    /* The remaining regions are in circles or below them. Each circle is cut once, and nothing below it. */
    for (uint32_t region = 0; region < in->numbers && !stack.failed; region++)
        if (b->size[region] && b->rank[region] == NONE) {
            uint32_t root = build_circle(b, region);
            b->parent[root] = NONE;
            number = build_tree(b, root, number, &stack);
        }
    bool done = !stack.failed;
    free(stack.items);
    if (!done) return false;
    b->start[0] = 0;
    for (uint32_t p = 0; p < b->regions; p++) {
        b->start[p + 1] = b->start[p] + b->size[b->graph_region[p]];
        b->end[p] = 1;
    }
    for (uint32_t p = b->regions; p-- > 0;) {
        uint32_t edge = b->parent[b->graph_region[p]];
        if (edge != NONE) b->end[b->rank[b->src_region[edge]]] += b->end[p];
    }
    for (uint32_t p = 0; p < b->regions; p++) b->end[p] += p;
    return true;
}

void build_out(const Input *in, Build *b) {
    memset(b->tree, 0, ((size_t)in->edges + 63) / 64 * 8);
    memset(b->follow, 0, ((size_t)in->edges + 63) / 64 * 8);
    uint32_t at = 0;
    for (uint32_t p = 0; p < b->regions; p++) {
        uint32_t region = b->graph_region[p];
        b->out_first[p] = at;
        for (uint32_t place = b->first[region]; place < b->first[region + 1]; place++, at++) {
            if (place + 2 * SOON < in->edges) {
                uint32_t next = b->dst_region[ordered(b, place + SOON)], later = b->dst_region[ordered(b, place + 2 * SOON)];
                __builtin_prefetch(b->rank + later);
                __builtin_prefetch(b->parent + later);
                __builtin_prefetch(b->start + b->rank[next]);
            }
            uint32_t edge = ordered(b, place), far = b->rank[b->dst_region[edge]];
            b->out[at] = (Out){b->start[far] + b->dst_offset[edge], far, 0};
            b->out_near[at] = b->start[p] + b->src_offset[edge];
            b->out_edge[at] = edge;
            if (b->parent[b->dst_region[edge]] == edge) b->tree[at >> 6] |= 1ull << (at & 63);
            else if (!in->excluded || !in->excluded[edge]) b->follow[at >> 6] |= 1ull << (at & 63);
        }
    }
    b->out_first[b->regions] = at;
    for (uint32_t place = 0; place < in->edges; place++) {
        Out *out = &b->out[place];
        if (place + 2 * SOON < in->edges) {
            uint32_t next = b->out[place + SOON].far_region, later = b->out[place + 2 * SOON].far_region;
            __builtin_prefetch(b->out_first + later);
            __builtin_prefetch(b->start + later);
            __builtin_prefetch(b->out_near + b->out_first[next]);
        }
        uint32_t begin = b->out_first[out->far_region];
        out->next = out->far == b->start[out->far_region]
                        ? begin
                        : first_at_least(b->out_near, begin, b->out_first[out->far_region + 1], out->far);
    }
}

bool build_into(const Input *in, Build *b) {
    uint32_t *next = numbers(b->regions), *place_at = numbers(in->edges), *far = numbers(in->edges);
    bool done = next && place_at && far;
    if (done) {
        memset(b->in_first, 0, ((size_t)b->regions + 1) * sizeof *b->in_first);
        for (uint32_t place = 0; place < in->edges; place++) {
            b->in_first[b->out[place].far_region + 1]++;
            far[place] = b->out[place].far;
        }
        for (uint32_t p = 0; p < b->regions; p++) b->in_first[p + 1] += b->in_first[p];
        memcpy(next, b->in_first, b->regions * sizeof *next);
        for (uint32_t place = 0; place < in->edges; place++) place_at[next[b->out[place].far_region]++] = place;
        done = sort_groups(place_at, b->in_first, b->regions, far);
    }
    if (done) {
        for (uint32_t p = 0; p < b->regions; p++)
            for (uint32_t place = b->out_first[p]; place < b->out_first[p + 1]; place++) far[place] = p;
        for (uint32_t i = 0; i < in->edges; i++) {
            if (i + SOON < in->edges) {
                __builtin_prefetch(b->out_near + place_at[i + SOON]);
                __builtin_prefetch(far + place_at[i + SOON]);
            }
            b->into[i] = (Into){b->out_near[place_at[i]], far[place_at[i]], place_at[i]};
        }
    }
    free(next);
    free(place_at);
    free(far);
    return done;
}

bool build_rows(const Input *in, Build *b) {
    uint32_t *next = zeros((size_t)b->regions + 1);
    if (!next) return false;
    for (uint32_t run = 0; run < in->runs; run++) next[b->rank[in->run_region[run]] + 1]++;
    for (uint32_t p = 0; p < b->regions; p++) next[p + 1] += next[p];
    for (uint32_t run = 0; run < in->runs; run++) {
        uint32_t p = b->rank[in->run_region[run]], place = next[p]++;
        b->run_row[place] = in->run_row[run];
        if (b->run_pos) b->run_pos[place] = b->start[p] + b->run_offset[run];
        b->by_row[run] = place;
    }
    free(next);
    return true;
}

bool times_ascend(const Input *in, const int64_t *ts, bool *steady, bool *forward) {
    int64_t *latest = malloc((in->numbers ? in->numbers : 1) * sizeof *latest);
    if (!latest) return false;
    *steady = *forward = true;
    for (uint32_t region = 0; region < in->numbers; region++) latest[region] = INT64_MIN;
    for (uint32_t run = 0; run < in->runs; run++) {
        uint64_t stop = run + 1 < in->runs ? in->run_row[run + 1] : in->events;
        int64_t before = latest[in->run_region[run]];
        bool good = true;
        for (uint64_t row = in->run_row[run]; row < stop; row++) {
            good &= ts[row] >= before;
            before = ts[row];
        }
        *steady &= good;
        latest[in->run_region[run]] = before;
    }
    for (uint32_t edge = 0; edge < in->edges && *forward; edge++)
        if (!in->excluded || !in->excluded[edge]) *forward = ts[in->src[edge]] <= ts[in->dst[edge]];
    free(latest);
    return true;
}
