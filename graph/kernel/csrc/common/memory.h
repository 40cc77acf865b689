/* Growing lists, and sorting of numbers.
 *
 * Invariant: code that runs out of memory sets `failed` and never writes beyond the allocated memory; the caller
 * checks `failed` once, at its end. */
#ifndef CLEW_MEMORY_H
#define CLEW_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A list of TYPE named NAME, with NAME_push. */
#define LIST(NAME, TYPE)                                                  \
    typedef struct {                                                      \
        TYPE *items; /* owned */                                          \
        size_t count, room;                                               \
        bool failed;                                                      \
    } NAME;                                                               \
    static inline void NAME##_push(NAME *list, TYPE item) {               \
        if (list->count == list->room) {                                  \
            size_t room = list->room ? list->room + list->room / 2 : 256; \
            TYPE *items = realloc(list->items, room * sizeof(TYPE));      \
            if (!items) {                                                 \
                list->failed = true;                                      \
                return;                                                   \
            }                                                             \
            list->items = items;                                          \
            list->room = room;                                            \
        }                                                                 \
        list->items[list->count++] = item;                                \
    }

typedef struct {
    uint32_t low, high;
} Range;

LIST(Numbers, uint32_t)
LIST(Ranges, Range)

static inline int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts numbers whose upper `64 - bits` bits are zero; `spare` has room for as many. Few of them are not worth the passes. */
static inline void sort_u64(uint64_t *values, uint64_t *spare, size_t count, unsigned bits) {
    size_t i = 1;
    while (i < count && values[i - 1] <= values[i]) i++;
    if (i >= count) return;
    if (count <= 32) {
        for (i = 1; i < count; i++) {
            uint64_t value = values[i];
            size_t place = i;
            for (; place && values[place - 1] > value; place--) values[place] = values[place - 1];
            values[place] = value;
        }
        return;
    }
    if (count < 4096) {
        qsort(values, count, sizeof *values, compare_u64);
        return;
    }
    uint64_t *from = values, *to = spare;
    for (unsigned shift = 0; shift < bits; shift += 11) {
        size_t begin[2048] = {0}, sum = 0;
        for (i = 0; i < count; i++) begin[from[i] >> shift & 2047]++;
        for (i = 0; i < 2048; i++) {
            size_t here = begin[i];
            begin[i] = sum;
            sum += here;
        }
        for (i = 0; i < count; i++) to[begin[from[i] >> shift & 2047]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    if (from != values) memcpy(values, from, count * sizeof *values);
}

static inline unsigned width(uint64_t value) {
    unsigned bits = 0;
    while (value >> bits && bits < 63) bits++;
    return bits + (value >> bits != 0);
}

/* Union-find with path halving; the smaller number is the root. */
static inline uint32_t find(uint32_t *parent, uint32_t x) {
    while (parent[x] != x) {
        parent[x] = parent[parent[x]];
        x = parent[x];
    }
    return x;
}

static inline void join(uint32_t *parent, uint32_t a, uint32_t b) {
    a = find(parent, a);
    b = find(parent, b);
    if (a < b) parent[b] = a;
    else parent[a] = b;
}

#endif
