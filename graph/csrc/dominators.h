/* Immediate dominators of a flow graph that has several entries: the iteration of Cooper, Harvey and Kennedy, "A simple, fast
 * dominance algorithm", 2001.
 *
 * Invariant: the ways out of a node are gone through in the order of its edges, the last entry first, so that the order of what
 * is reached is always the same. */
#ifndef CLEW_DOMINATORS_H
#define CLEW_DOMINATORS_H

#include "memory.h"
#include "plane.h"

typedef struct {
    uint32_t count;
    size_t edges;
    const uint32_t *source, *target;
    uint32_t *first, *far; /* owned: per node where its edges begin, one more; and their other ends */
} Ways;

/* The edges by one of their ends, in their order. False without memory. */
static bool ways_make(Ways *ways, bool onward) {
    const uint32_t *near = onward ? ways->source : ways->target, *far = onward ? ways->target : ways->source;
    ways->first = calloc((size_t)ways->count + 2, sizeof *ways->first);
    ways->far = malloc((ways->edges + 1) * sizeof *ways->far);
    if (!ways->first || !ways->far) return false;
    uint32_t *at = ways->first + 1;
    for (size_t i = 0; i < ways->edges; i++) at[near[i] + 1]++;
    for (uint32_t node = 0; node < ways->count; node++) at[node + 1] += at[node];
    /* `at` ends as where the next one begins, and `first`, which is one before it, as where this one does. */
    for (size_t i = 0; i < ways->edges; i++) ways->far[at[near[i]]++] = far[i];
    return true;
}

static void ways_free(Ways *ways) {
    free(ways->first);
    free(ways->far);
}

typedef struct {
    uint32_t *above;   /* per node, NONE for none */
    uint32_t *reached; /* in reverse postorder; owned, as `above` and `rank` */
    uint32_t *rank;    /* per node its place in `reached` */
    size_t reached_count;
} Dominated;

static bool reverse_postorder(const Ways *ways, const uint32_t *entries, size_t entry_count, Dominated *d) {
    uint32_t *at = malloc(((size_t)ways->count + 1) * sizeof *at);
    Numbers stack = {0};
    size_t left = ways->count;
    if (!at) return false;
    for (uint32_t node = 0; node < ways->count; node++) at[node] = NONE;
    for (size_t i = entry_count; i-- > 0;) {
        if (at[entries[i]] != NONE) continue;
        at[entries[i]] = ways->first[entries[i]];
        Numbers_push(&stack, entries[i]);
        while (stack.count && !stack.failed) {
            uint32_t here = stack.items[stack.count - 1];
            if (at[here] == ways->first[here + 1]) {
                d->reached[--left] = here;
                stack.count--;
                continue;
            }
            uint32_t next = ways->far[at[here]++];
            if (at[next] != NONE) continue;
            at[next] = ways->first[next];
            Numbers_push(&stack, next);
        }
    }
    d->reached_count = ways->count - left;
    memmove(d->reached, d->reached + left, d->reached_count * sizeof *d->reached);
    for (size_t i = 0; i < d->reached_count; i++) d->rank[d->reached[i]] = (uint32_t)i;
    free(at);
    free(stack.items);
    return !stack.failed;
}

/* The last node that both have in common on the way from the entries, NONE for none. */
static uint32_t meet(const Dominated *d, uint32_t one, uint32_t other) {
    while (one != other) {
        if (one == NONE || other == NONE) return NONE;
        if (d->rank[one] > d->rank[other]) one = d->above[one];
        else other = d->above[other];
    }
    return one;
}

/* `comes` are the edges by their targets. False without memory. */
static bool dominators_solve(const Ways *comes, const uint32_t *entries, size_t entry_count, Dominated *d) {
    enum { UNKNOWN, KNOWN, ENTRY };
    uint8_t *known = calloc((size_t)comes->count + 1, 1);
    if (!known) return false;
    for (uint32_t node = 0; node < comes->count; node++) d->above[node] = NONE;
    for (size_t i = 0; i < entry_count; i++) known[entries[i]] = ENTRY;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < d->reached_count; i++) {
            uint32_t here = d->reached[i], found = NONE;
            bool any = false;
            if (known[here] == ENTRY) continue;
            for (uint32_t at = comes->first[here]; at < comes->first[here + 1]; at++) {
                uint32_t other = comes->far[at];
                if (known[other] == UNKNOWN) continue;
                found = any ? meet(d, found, other) : other;
                any = true;
            }
            if (known[here] == KNOWN && d->above[here] == found) continue;
            known[here] = KNOWN;
            d->above[here] = found;
            changed = true;
        }
    }
    free(known);
    return true;
}

#endif
