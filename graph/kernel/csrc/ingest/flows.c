#include "flows.h"

#include <stdlib.h>
#include <string.h>

#include "arrange.h"

#define NOBODY UINT32_MAX
#define REPEATED 0xD6E8FEB86659FD93u

static inline uint64_t flow_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Links each frame's children, ascending. */
static bool flows_link(Flows *flows) {
    size_t bytes = (size_t)flows->frames * sizeof(uint32_t);
    flows->child = malloc(bytes + 1);
    flows->next = malloc(bytes + 1);
    if (!flows->child || !flows->next) return false;
    memset(flows->child, 0xFF, bytes);
    for (int64_t at = flows->frames - 1; at >= 0; at--) {
        flows->next[at] = NOBODY;
        int32_t above = flows->parent[at];
        if (above < 0) continue;
        flows->next[at] = flows->child[above];
        flows->child[above] = (uint32_t)at;
    }
    return true;
}

static inline int flow_compare(const Flows *flows, uint32_t a, uint32_t b) {
    const FlowNode *x = flows->nodes.items + a, *y = flows->nodes.items + b;
    int32_t one = flows->label[x->frame], other = flows->label[y->frame];
    if (one != other) return one < other ? -1 : 1;
    if (x->shape != y->shape) return x->shape < y->shape ? -1 : 1;
    int64_t first = flows->begin[x->frame], second = flows->begin[y->frame];
    if (first != second) return first < second ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Merge sort from the bottom: few are inserted, many merged through `spare`. */
static void flow_sort(const Flows *flows, uint32_t *kids, size_t count, uint32_t *spare) {
    if (count <= 12) {
        for (size_t i = 1; i < count; i++) {
            uint32_t kid = kids[i];
            size_t place = i;
            for (; place && flow_compare(flows, kids[place - 1], kid) > 0; place--) kids[place] = kids[place - 1];
            kids[place] = kid;
        }
        return;
    }
    size_t half = count / 2, left = 0, right = half, at = 0;
    flow_sort(flows, kids, half, spare);
    flow_sort(flows, kids + half, count - half, spare);
    if (flow_compare(flows, kids[half - 1], kids[half]) <= 0) return;
    memcpy(spare, kids, half * sizeof *kids);
    while (left < half && right < count)
        kids[at++] = flow_compare(flows, spare[left], kids[right]) <= 0 ? spare[left++] : kids[right++];
    while (left < half) kids[at++] = spare[left++];
}

static inline bool flow_equal(const FlowNode *one, const FlowNode *other) {
    return one->shape == other->shape && one->size == other->size;
}

static bool flow_collect(Flows *flows, uint32_t root) {
    FlowNodes *nodes = &flows->nodes;
    nodes->count = 0;
    FlowNodes_push(nodes, (FlowNode){.frame = root, .up = NOBODY});
    for (size_t at = 0; at < nodes->count && !nodes->failed; at++) {
        nodes->items[at].first = (uint32_t)nodes->count;
        for (uint32_t kid = flows->child[nodes->items[at].frame]; kid != NOBODY; kid = flows->next[kid])
            FlowNodes_push(nodes, (FlowNode){.frame = kid, .up = (uint32_t)at});
        if (nodes->failed) return false;
        nodes->items[at].kids = (uint32_t)nodes->count - nodes->items[at].first;
        if ((int64_t)nodes->count > flows->frames) {
            flows->circle = true;
            return false;
        }
    }
    if (nodes->count > flows->room) {
        free(flows->order);
        flows->room = nodes->count * 2;
        flows->order = malloc(flows->room * 2 * sizeof *flows->order); /* the second half is spare */
        if (!flows->order) return flows->room = 0, false;
    }
    return !nodes->failed;
}

/* From the leaves up: kids in their order, then the shape. */
static void flow_shape(Flows *flows) {
    FlowNode *nodes = flows->nodes.items;
    uint32_t *order = flows->order;
    for (size_t at = flows->nodes.count; at-- > 0;) {
        FlowNode *node = nodes + at;
        uint32_t *kids = order + node->first;
        for (uint32_t kid = 0; kid < node->kids; kid++) kids[kid] = node->first + kid;
        flow_sort(flows, kids, node->kids, order + flows->room);
        uint64_t shape = flow_mix(flows->name[flows->label[node->frame]]);
        node->size = 1;
        for (uint32_t kid = 0; kid < node->kids; kid++) {
            uint64_t below = nodes[kids[kid]].shape;
            node->size += nodes[kids[kid]].size;
            if (flows->coalesce && kid + 1 < node->kids && flow_equal(nodes + kids[kid], nodes + kids[kid + 1])) {
                while (kid + 1 < node->kids && flow_equal(nodes + kids[kid], nodes + kids[kid + 1])) kid++;
                below = flow_mix(below ^ REPEATED);
            }
            shape = flow_mix(shape * 3 + below);
        }
        node->shape = shape;
    }
}

/* From the root down: places, and what comes out. Gives the shape. */
static uint64_t flow_place(Flows *flows) {
    FlowNode *nodes = flows->nodes.items;
    size_t base = flows->frame.count, size = nodes[0].size;
    for (size_t at = 0; at < size; at++) {
        Numbers_push(&flows->frame, 0);
        Numbers_push(&flows->above, 0);
    }
    if (flows->frame.failed || flows->above.failed) return 0;
    nodes[0].place = 0;
    nodes[0].again = false;
    for (size_t at = 0; at < flows->nodes.count; at++) {
        const FlowNode *node = nodes + at;
        uint32_t place = node->place + 1;
        if (node->again) {
            Numbers_push(&flows->more, node->frame);
            Places_push(&flows->where, (int64_t)(base + node->place));
        } else {
            flows->frame.items[base + node->place] = node->frame;
            flows->above.items[base + node->place] = at ? nodes[node->up].place : NOBODY;
        }
        const uint32_t *kids = flows->order + node->first;
        for (uint32_t kid = 0; kid < node->kids; kid++) {
            FlowNode *below = nodes + kids[kid];
            const FlowNode *before = kid ? nodes + kids[kid - 1] : NULL;
            bool same = flows->coalesce && before && flow_equal(before, below);
            below->again = node->again || same;
            below->place = same ? before->place : place;
            if (!same) place += below->size;
        }
    }
    return nodes[0].shape;
}

bool flows_order(Flows *flows, const int32_t *roots, int64_t count, int64_t *first, uint64_t *shape) {
    if (!flows_link(flows)) return false;
    first[0] = 0;
    for (int64_t at = 0; at < count; at++) {
        if (!flow_collect(flows, (uint32_t)roots[at])) return false;
        flow_shape(flows);
        shape[at] = flow_place(flows);
        first[at + 1] = (int64_t)flows->frame.count;
        if (flows->frame.failed || flows->above.failed || flows->more.failed || flows->where.failed) return false;
    }
    return true;
}

void flows_free(Flows *flows) {
    free(flows->child);
    free(flows->next);
    free(flows->order);
    free(flows->nodes.items);
    free(flows->frame.items);
    free(flows->above.items);
    free(flows->more.items);
    free(flows->where.items);
}
