/* Run-length Sequitur: the grammar of repetitions in a sequence, built symbol by symbol.
 *
 * Nodes are numbers. A rule is a ring of nodes that begins and ends at its guard, whose exponent is 0, like the
 * exponent of a freed node. Every change reduces the remaining work: with a potential of 2 per symbol of every rule
 * except the first, and 1 per rule, each step except appending lowers the sum. A step that visits all uses of a rule
 * was paid for when these uses were created. Invariant: a digram is in the index under its left node, or that node
 * is pending; a rule that may have become useless is loose. tests/oracles/sequitur.py is the reference
 * implementation. */
#ifndef CLEW_GRAMMAR_H
#define CLEW_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    int32_t value; /* a terminal, or ~rule; of a guard the rule */
    uint32_t exponent : 31;
    uint32_t indexed : 1; /* the digram of which it is the left one is in the index under it */
    int32_t before, after;
} Node;

/* The place of a node among the uses of its rule. */
typedef struct {
    int32_t older, newer; /* uses of its rule, -1 for none */
} Use;

typedef struct {
    int32_t guard; /* -1: the rule is no more */
    int32_t uses, newest;
} Rule;

typedef struct {
    int32_t *items;
    int32_t count, room;
} Stack;

typedef struct {
    int32_t node; /* -1: empty */
    uint32_t hash;
} Slot;

typedef struct {
    Node *nodes;
    Use *uses; /* apart from the nodes, which are looked at far more often */
    int32_t made, node_room, use_room;
    Rule *rules;
    int32_t rule_count, rule_room;
    Stack free, gone, pending, loose;
    Slot *index;
    uint32_t mask, held;
    bool failed; /* no memory, or more than numbers of 32 bits tell apart */
} Grammar;

/* False: no memory. */
bool grammar_of(Grammar *g, const int32_t *sequence, int64_t count);

void grammar_free(Grammar *g);

#endif
