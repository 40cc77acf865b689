#include "shapes.h"

#include <stdlib.h>
#include <string.h>

void shapes_free(Shapes *to) {
    free(to->shape);
    free(to->place);
    free(to->symbol);
    free(to->newer);
    free(to->hash);
    free(to->first);
    free(to->child);
    free(to->bucket);
}

/* Makes an array larger; false: no memory, and it is as it was. */
#define RESIZE(items, count) resized((items), (count) * sizeof *(items), &made) && ((items) = made, true)

static bool resized(void *items, size_t size, void **made) {
    *made = realloc(items, size);
    return *made;
}

static bool shapes_room(Shapes *to, int64_t children) {
    void *made;
    if (to->count == to->room) {
        to->room = to->room ? to->room + to->room / 2 : 1024;
        size_t room = (size_t)to->room;
        if (!(RESIZE(to->symbol, room)) || !(RESIZE(to->newer, room)) || !(RESIZE(to->hash, room)) ||
            !(RESIZE(to->first, room + 1)))
            return false;
        uint64_t buckets = 1024;
        while (buckets < room) buckets *= 2;
        if (!(RESIZE(to->bucket, buckets))) return false;
        to->mask = buckets - 1;
        memset(to->bucket, 0xFF, buckets * 4);
        for (int32_t at = 0; at < to->count; at++) {
            to->newer[at] = to->bucket[to->hash[at] & to->mask];
            to->bucket[to->hash[at] & to->mask] = at;
        }
    }
    if (to->children + children > to->child_room) {
        to->child_room = to->child_room + to->child_room / 2 + children + 1024;
        return RESIZE(to->child, (size_t)to->child_room);
    }
    return true;
}

static bool same_list(const Shapes *to, int32_t shape, const int32_t *size, int64_t at) {
    const int32_t *child = to->child + to->first[shape], *stop = to->child + to->first[shape + 1];
    int64_t inside = at + 1, end = at + size[at];
    for (; inside < end && child < stop; inside += size[inside])
        if (to->shape[inside] != *child++) return false;
    return inside >= end && child == stop;
}

bool shapes_find(Shapes *to, const int32_t *what, const int32_t *size, int64_t nodes) {
    to->shape = malloc((size_t)nodes * 4 + 1);
    to->place = malloc((size_t)nodes * 8 + 1);
    if (!to->shape || !to->place || !shapes_room(to, 0)) return false;
    to->first[0] = 0;
    for (int64_t at = nodes - 1; at >= 0; at--) {
        int64_t end = at + size[at], width = 0;
        uint64_t hash = (uint64_t)(uint32_t)what[at] + 0x9E3779B97F4A7C15u;
        for (int64_t inside = at + 1; inside < end; inside += size[inside], width++) {
            hash = (hash ^ (uint32_t)to->shape[inside]) * 0xBF58476D1CE4E5B9u;
            hash ^= hash >> 29;
        }
        hash *= 0x94D049BB133111EBu;
        hash ^= hash >> 31;
        int32_t shape = to->bucket[hash & to->mask];
        while (shape >= 0 && (to->hash[shape] != hash || to->symbol[shape] != what[at] || !same_list(to, shape, size, at)))
            shape = to->newer[shape];
        if (shape < 0) {
            if (!shapes_room(to, width)) return false;
            shape = to->count++;
            to->symbol[shape] = what[at];
            to->hash[shape] = hash;
            to->newer[shape] = to->bucket[hash & to->mask];
            to->bucket[hash & to->mask] = shape;
            for (int64_t inside = at + 1; inside < end; inside += size[inside]) to->child[to->children++] = to->shape[inside];
            to->first[shape + 1] = to->children;
        }
        to->shape[at] = shape;
        to->place[at] = -1;
        int64_t place = to->first[shape];
        for (int64_t inside = at + 1; inside < end; inside += size[inside]) to->place[inside] = place++;
    }
    return true;
}
