#include "numbering.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int32_t rule, node;
    int64_t began;
} Visit;

void numbered_free(Numbered *to) {
    free(to->order);
    free(to->start);
    free(to->length);
    free(to->first);
    free(to->exponent);
    free(to->symbol);
}

bool number_rules(const Grammar *g, Numbered *to) {
    size_t rules = (size_t)g->rule_count;
    int32_t *number = malloc(rules * sizeof *number);
    Visit *stack = malloc(rules * sizeof *stack);
    to->order = malloc(rules * sizeof *to->order);
    to->start = malloc(rules * sizeof *to->start);
    to->length = malloc(rules * sizeof *to->length);
    bool ok = number && stack && to->order && to->start && to->length;
    if (!ok) goto done;
    memset(number, 0xFF, rules * sizeof *number);
    const Node *nodes = g->nodes;
    int64_t place = 0;
    size_t depth = 0;
    number[0] = 0;
    to->order[0] = 0;
    to->start[0] = 0;
    to->rules = 1;
    stack[depth++] = (Visit){0, nodes[g->rules[0].guard].after, 0};
    while (depth) {
        Visit at = stack[--depth];
        while (nodes[at.node].exponent) {
            const Node *node = nodes + at.node;
            int32_t rule = ~node->value;
            if (node->value >= 0) place += node->exponent;
            else if (number[rule] >= 0) place += node->exponent * to->length[number[rule]];
            else {
                stack[depth++] = at;
                number[rule] = (int32_t)to->rules;
                to->order[to->rules] = rule;
                to->start[to->rules++] = place;
                at = (Visit){rule, nodes[g->rules[rule].guard].after, place};
                continue;
            }
            to->symbols++;
            at.node = node->after;
        }
        to->length[number[at.rule]] = place - at.began;
        place = at.began; /* back at the node that was waited for, which is counted in full there */
    }
    to->first = malloc(((size_t)to->rules + 1) * sizeof *to->first);
    to->exponent = malloc((size_t)to->symbols * sizeof *to->exponent + 1);
    to->symbol = malloc((size_t)to->symbols * sizeof *to->symbol + 1);
    ok = to->first && to->exponent && to->symbol;
    if (!ok) goto done;
    int64_t filled = 0;
    to->first[0] = 0;
    for (int64_t rule = 0; rule < to->rules; rule++) {
        for (int32_t at = nodes[g->rules[to->order[rule]].guard].after; nodes[at].exponent; at = nodes[at].after) {
            to->symbol[filled] = nodes[at].value >= 0 ? nodes[at].value : ~number[~nodes[at].value];
            to->exponent[filled++] = nodes[at].exponent;
        }
        to->first[rule + 1] = filled;
    }
done:
    free(number);
    free(stack);
    return ok;
}
