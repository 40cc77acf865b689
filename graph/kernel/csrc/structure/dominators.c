#include "dominators.h"

#include <stdlib.h>
#include <string.h>

#include "plane.h"

bool ways_make(Ways *ways, bool onward) {
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

void ways_free(Ways *ways) {
    free(ways->first);
    free(ways->far);
}

/* By number, from 0. */
typedef struct {
    uint32_t *number; /* per node, NONE where nothing leads to it; owned, with all that follow in one piece */
    uint32_t *parent, *semi, *above;
    uint32_t *linked, *best;  /* of what is done: an ancestor, NONE for none; who has the least `semi` on the way there */
    uint32_t *waiting, *next; /* lists of those with one semidominator, NONE at their ends */
    uint32_t *stack;
} Search;

static bool search_make(Search *search, uint32_t count) {
    uint32_t **arrays[] = {&search->number, &search->parent,  &search->semi, &search->above, &search->linked,
                           &search->best,   &search->waiting, &search->next, &search->stack};
    size_t length = (size_t)count + 1, pieces = sizeof arrays / sizeof *arrays;
    uint32_t *room = malloc(pieces * length * sizeof *room);
    if (!room) return false;
    memset(room, 0xFF, pieces * length * sizeof *room);
    for (size_t i = 0; i < pieces; i++) *arrays[i] = room + i * length;
    return true;
}

/* Numbers what the entries lead to. `at` is scratch, per node. */
static void number_nodes(const Ways *ways, const uint32_t *entries, size_t entry_count, Search *s, uint32_t *at, Dominated *d) {
    uint32_t numbers = 0;
    for (size_t i = 0; i < entry_count; i++) {
        uint32_t depth = 0, next = entries[i], parent = 0;
        while (true) {
            if (s->number[next] == NONE) {
                s->number[next] = ++numbers;
                d->reached[numbers - 1] = next;
                s->parent[numbers] = parent;
                at[next] = ways->first[next];
                s->stack[depth++] = next;
            }
            while (depth && at[s->stack[depth - 1]] == ways->first[s->stack[depth - 1] + 1]) depth--;
            if (!depth) break;
            parent = s->number[s->stack[depth - 1]];
            next = ways->far[at[s->stack[depth - 1]]++];
        }
    }
    d->reached_count = numbers;
}

/* The node with the least semidominator between `here` and the root of its tree, without the root. Compresses paths. */
static uint32_t least(Search *s, uint32_t here) {
    uint32_t depth = 0;
    if (s->linked[here] == NONE) return here;
    for (uint32_t at = here; s->linked[s->linked[at]] != NONE; at = s->linked[at]) s->stack[depth++] = at;
    while (depth) {
        uint32_t at = s->stack[--depth], up = s->linked[at];
        if (s->semi[s->best[up]] < s->semi[s->best[at]]) s->best[at] = s->best[up];
        s->linked[at] = s->linked[up];
    }
    return s->best[here];
}

/* `comes` are the edges by their targets. */
static void dominators_solve(const Ways *comes, const uint32_t *entries, size_t entry_count, Search *s, Dominated *d) {
    for (uint32_t here = 0; here <= d->reached_count; here++) {
        s->semi[here] = here ? s->parent[here] : 0;
        s->best[here] = here;
    }
    for (size_t i = 0; i < entry_count; i++) s->semi[s->number[entries[i]]] = 0;
    for (uint32_t here = (uint32_t)d->reached_count; here; here--) {
        uint32_t node = d->reached[here - 1], parent = s->parent[here];
        for (uint32_t at = comes->first[node]; at < comes->first[node + 1]; at++) {
            uint32_t from = s->number[comes->far[at]];
            if (from == NONE) continue;
            uint32_t semi = s->semi[least(s, from)];
            /* One that is not done yet stands for itself. */
            if (from <= here) semi = from;
            if (semi < s->semi[here]) s->semi[here] = semi;
        }
        s->next[here] = s->waiting[s->semi[here]];
        s->waiting[s->semi[here]] = here;
        s->linked[here] = parent;
        for (uint32_t one = s->waiting[parent]; one != NONE; one = s->next[one]) {
            uint32_t other = least(s, one);
            s->above[one] = s->semi[other] < s->semi[one] ? other : parent;
        }
        s->waiting[parent] = NONE;
    }
    for (uint32_t here = 1; here <= d->reached_count; here++) {
        if (s->above[here] != s->semi[here]) s->above[here] = s->above[s->above[here]];
        d->above[d->reached[here - 1]] = s->above[here] ? d->reached[s->above[here] - 1] : NONE;
    }
}

bool dominators_find(const Ways *onward, const Ways *comes, const uint32_t *entries, size_t entry_count, Dominated *d) {
    Search search = {0};
    bool made = search_make(&search, onward->count);
    if (made) {
        for (uint32_t node = 0; node < onward->count; node++) d->above[node] = NONE;
        number_nodes(onward, entries, entry_count, &search, search.best, d);
        dominators_solve(comes, entries, entry_count, &search, d);
    }
    free(search.number);
    return made;
}
