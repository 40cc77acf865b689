#include "edges.h"

#include <stdlib.h>
#include <string.h>

#include "arrange.h"

typedef struct {
    int64_t src, dst;
    uint8_t kind;
} Edge;

static inline Edge edge_at(const Edge_columns *of, int64_t at) { return (Edge){of->src[at], of->dst[at], of->kind[at]}; }

static inline void edge_put(const Edge_columns *to, int64_t at, Edge edge) {
    to->src[at] = edge.src;
    to->dst[at] = edge.dst;
    to->kind[at] = edge.kind;
}

static inline bool edge_before(const Edge *a, const Edge *b) {
    return a->src < b->src || (a->src == b->src && a->dst < b->dst);
}

/* Merges runs of 1, 2, 4 … edges; gives the half of `edges`, which has room for twice as many, that has the result. */
static Edge *edges_merge(Edge *edges, int64_t count) {
    Edge *from = edges, *to = edges + count;
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t low = 0; low < count; low += 2 * width) {
            int64_t middle = low + width < count ? low + width : count, high = middle + width < count ? middle + width : count;
            int64_t left = low, right = middle, put = low;
            while (left < middle && right < high)
                to[put++] = edge_before(from + right, from + left) ? from[right++] : from[left++];
            memcpy(to + put, from + left, (size_t)(middle - left) * sizeof *to);
            memcpy(to + put + (middle - left), from + right, (size_t)(high - right) * sizeof *to);
        }
        Edge *other = from;
        from = to;
        to = other;
    }
    return from;
}

enum { FEW_EDGES = 24 };

/* The edges `low` up to `high` in order. False: no memory. */
static bool edges_sort(const Edge_columns *of, int64_t low, int64_t high) {
    int64_t count = high - low;
    if (count > FEW_EDGES) {
        Edge *edges = malloc((size_t)count * 2 * sizeof *edges);
        if (!edges) return false;
        for (int64_t at = 0; at < count; at++) edges[at] = edge_at(of, low + at);
        const Edge *sorted = edges_merge(edges, count);
        for (int64_t at = 0; at < count; at++) edge_put(of, low + at, sorted[at]);
        free(edges);
        return true;
    }
    for (int64_t at = low + 1; at < high; at++) {
        Edge one = edge_at(of, at);
        int64_t place = at;
        for (; place > low; place--) {
            Edge other = edge_at(of, place - 1);
            if (!edge_before(&one, &other)) break;
            edge_put(of, place, other);
        }
        if (place < at) edge_put(of, place, one);
    }
    return true;
}

enum { AHEAD = 16 };

/* Neighbouring edges lead anywhere: what the edge AHEAD and the one twice as far need is called for meanwhile. */
static inline void call_for(const Edge_columns *of, const uint32_t *region, const int64_t *stop, int64_t edge) {
    if (edge + 2 * AHEAD >= of->edges) return;
    __builtin_prefetch(region + of->src[edge + 2 * AHEAD]);
    __builtin_prefetch(stop + region[of->src[edge + AHEAD]], 1);
}

bool edges_arrange(const Edge_columns *from, const uint32_t *region, int64_t regions, const Edge_columns *to) {
    int64_t *stop = calloc((size_t)regions + 1, sizeof *stop), sum = 0, low = 0;
    if (!stop) return false;
    for (int64_t edge = 0; edge < from->edges; edge++) {
        call_for(from, region, stop, edge);
        stop[region[from->src[edge]]]++;
    }
    for (int64_t at = 0; at < regions; at++) {
        int64_t here = stop[at];
        stop[at] = sum;
        sum += here;
    }
    for (int64_t edge = 0; edge < from->edges; edge++) {
        call_for(from, region, stop, edge);
        if (edge + AHEAD / 2 < from->edges) {
            int64_t place = stop[region[from->src[edge + AHEAD / 2]]];
            __builtin_prefetch(to->src + place, 1);
            __builtin_prefetch(to->dst + place, 1);
        }
        edge_put(to, stop[region[from->src[edge]]]++, edge_at(from, edge));
    }
    bool ok = true;
    for (int64_t at = 0; ok && at < regions; low = stop[at++]) ok = edges_sort(to, low, stop[at]);
    free(stop);
    return ok;
}

void edges_name(const Edge_columns *of, const int32_t *ext, const uint32_t *channel, uint32_t *name) {
    for (int64_t edge = 0; edge < of->edges; edge++) {
        if (edge + 2 * AHEAD < of->edges) {
            __builtin_prefetch(ext + of->dst[edge + 2 * AHEAD]);
            int32_t soon = ext[of->dst[edge + AHEAD]];
            if (soon >= 0) __builtin_prefetch(channel + soon);
        }
        int32_t there = ext[of->dst[edge]], here;
        name[edge] = there < 0 ? 0 : channel[there];
        if (!name[edge] && (here = ext[of->src[edge]]) >= 0) name[edge] = channel[here];
    }
}
