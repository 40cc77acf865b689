#include "condense.h"

#include <stdlib.h>

#include "plane.h"

void condensed_free(Condensed *c) {
    free(c->vertices.items);
    free(c->pairs.items);
    free(c->arcs);
    free(c->vertex_of);
}

static int compare_vertices(const void *a, const void *b) {
    const Vertex *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->region > y->region) - (x->region < y->region);
}

bool condensed_finish(Condensed *c) {
    size_t vertices = c->vertices.count, pairs = c->pairs.count;
    if (c->vertices.failed || c->pairs.failed) return false;
    if (!(c->vertex_of = malloc((vertices + 1) * sizeof *c->vertex_of))) return false;
    Vertex *items = c->vertices.items;
    if (vertices > 1) {
        /* `events` is set aside so that the number before sorting can ride along. */
        int64_t *events = malloc(vertices * sizeof *events);
        if (!events) return false;
        for (size_t i = 0; i < vertices; i++) {
            events[i] = items[i].events;
            items[i].events = (int64_t)i;
        }
        qsort(items, vertices, sizeof *items, compare_vertices);
        for (size_t i = 0; i < vertices; i++) {
            c->vertex_of[items[i].events] = (uint32_t)i;
            items[i].events = events[items[i].events];
        }
        free(events);
    } else c->vertex_of[0] = 0;
    if (!pairs) return true;
    uint64_t *spare = malloc(pairs * sizeof *spare);
    if (!spare || !(c->arcs = malloc(pairs * sizeof *c->arcs))) {
        free(spare);
        return false;
    }
    uint64_t *keys = c->pairs.items;
    for (size_t i = 0; i < pairs; i++)
        keys[i] = (uint64_t)c->vertex_of[keys[i] >> 32] * vertices + c->vertex_of[(uint32_t)keys[i]];
    sort_u64(keys, spare, pairs, width((uint64_t)vertices * vertices));
    free(spare);
    for (size_t i = 0; i < pairs; i++) {
        if (i && keys[i] == keys[i - 1]) c->arcs[c->arc_count - 1].count++;
        else c->arcs[c->arc_count++] = (Arc){(uint32_t)(keys[i] / vertices), (uint32_t)(keys[i] % vertices), 1};
    }
    return true;
}

bool condense(Slicing *s, const uint32_t *regions, const uint32_t *bounds, size_t count, const uint32_t *labels,
              const int64_t *ts, Condensed *c, uint32_t *vertex_of_region) {
    const Plane *plane = s->plane;
    uint32_t *parent = malloc((count + 1) * sizeof *parent);
    Ranges between = {0};
    if (!parent) return false;
    for (size_t i = 0; i < count; i++) {
        parent[i] = (uint32_t)i;
        s->state[regions[i]] = (State){reach_of(s, bounds[i]), (uint32_t)i};
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t region = regions[i], label = labels[region];
        uint32_t low = s->forward ? first_out(plane, region, bounds[i]) : plane->in_first[region];
        uint32_t high = s->forward ? plane->out_first[region + 1] : last_in(plane, region, bounds[i]);
        for (uint32_t at = low; at < high; at++) {
            uint32_t place = s->forward ? at : plane->into[at].place;
            if (!allows(plane, s->allowed, place)) continue;
            uint32_t other = s->forward ? plane->out[at].far_region : plane->into[at].far_region;
            uint32_t far = s->forward ? plane->out[at].far : plane->into[at].far;
            State state = s->state[other];
            if (!state.reach || reach_of(s, far) > state.reach) continue;
            if (labels[other] == label) join(parent, i, state.covered);
            else Ranges_push(&between, s->forward ? (Range){i, state.covered} : (Range){state.covered, i});
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t region = regions[i], root = find(parent, i);
        uint32_t begin = s->forward ? bounds[i] : plane->start[region];
        uint32_t stop = s->forward ? plane->start[region + 1] : bounds[i] + 1;
        if (root == i) {
            vertex_of_region[i] = (uint32_t)c->vertices.count;
            Vertices_push(&c->vertices, (Vertex){INT64_MAX, INT64_MIN, 0, labels[region], region});
            if (c->vertices.failed) break;
        } else vertex_of_region[i] = vertex_of_region[root];
        vertex_add(&c->vertices.items[vertex_of_region[i]], (int64_t)stop - begin, ts[row_of(plane, region, begin)],
                   ts[row_of(plane, region, stop - 1)], region);
    }
    for (size_t i = 0; i < count; i++) s->state[regions[i]].reach = 0;
    free(parent);
    for (size_t i = 0; i < between.count && !c->vertices.failed; i++)
        Keys_push(&c->pairs, (uint64_t)vertex_of_region[between.items[i].low] << 32 | vertex_of_region[between.items[i].high]);
    c->pairs.failed |= between.failed;
    free(between.items);
    if (!condensed_finish(c)) return false;
    for (size_t i = 0; i < count; i++) vertex_of_region[i] = c->vertex_of[vertex_of_region[i]];
    return true;
}
