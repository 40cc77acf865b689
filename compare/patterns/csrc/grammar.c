#include "grammar.h"

#include <string.h>

/* NULL: no memory. */
static void *grown(void *items, int32_t *room, size_t size) {
    if (*room > INT32_MAX / 2) return NULL;
    int32_t wanted = *room ? *room * 2 : 1024;
    void *made = realloc(items, (size_t)wanted * size);
    if (made) *room = wanted;
    return made;
}

static void push(Grammar *g, Stack *stack, int32_t item) {
    if (stack->count == stack->room) {
        int32_t *items = grown(stack->items, &stack->room, sizeof *items);
        if (!items) {
            g->failed = true;
            return;
        }
        stack->items = items;
    }
    stack->items[stack->count++] = item;
}

/* Node 0 where there is no memory: nothing is done with it any more. */
static int32_t make_node(Grammar *g, int32_t value, uint32_t exponent) {
    int32_t node;
    if (g->free.count) node = g->free.items[--g->free.count];
    else {
        if (g->made == g->node_room) {
            Node *nodes = grown(g->nodes, &g->node_room, sizeof *nodes);
            if (nodes) g->nodes = nodes;
            Use *uses = nodes ? grown(g->uses, &g->use_room, sizeof *uses) : NULL;
            if (!uses) {
                g->failed = true;
                return 0;
            }
            g->uses = uses;
        }
        node = g->made++;
    }
    g->nodes[node] = (Node){value, exponent, 0, -1, -1};
    return node;
}

static inline void link_nodes(Grammar *g, int32_t left, int32_t right) {
    g->nodes[left].after = right;
    g->nodes[right].before = left;
}

static int32_t make_rule(Grammar *g) {
    int32_t rule;
    if (g->gone.count) rule = g->gone.items[--g->gone.count];
    else {
        if (g->rule_count == g->rule_room) {
            Rule *rules = grown(g->rules, &g->rule_room, sizeof *rules);
            if (!rules) {
                g->failed = true;
                return 0;
            }
            g->rules = rules;
        }
        rule = g->rule_count++;
    }
    int32_t guard = make_node(g, rule, 0);
    if (g->failed) return 0;
    link_nodes(g, guard, guard);
    g->rules[rule] = (Rule){guard, 0, -1};
    return rule;
}

static inline void use(Grammar *g, int32_t at) {
    int32_t value = g->nodes[at].value;
    if (value >= 0) return;
    Rule *rule = g->rules + ~value;
    g->uses[at] = (Use){rule->newest, -1};
    if (rule->newest >= 0) g->uses[rule->newest].newer = at;
    rule->newest = at;
    rule->uses++;
}

static inline void unuse(Grammar *g, int32_t at) {
    int32_t value = g->nodes[at].value;
    if (value >= 0) return;
    Rule *rule = g->rules + ~value;
    Use use = g->uses[at];
    if (use.older >= 0) g->uses[use.older].newer = use.newer;
    if (use.newer >= 0) g->uses[use.newer].older = use.older;
    else rule->newest = use.older;
    if (--rule->uses == 1) push(g, &g->loose, ~value);
}

static void drop(Grammar *g, int32_t node) {
    unuse(g, node);
    g->nodes[node].exponent = 0;
    push(g, &g->free, node);
}

static inline bool is_digram(const Grammar *g, int32_t left) {
    return g->nodes[left].exponent && g->nodes[g->nodes[left].after].exponent;
}

static inline uint32_t hash_of(const Node *left, const Node *right) {
    uint64_t one = (uint64_t)(uint32_t)left->value << 32 | left->exponent;
    uint64_t other = (uint64_t)(uint32_t)right->value << 32 | right->exponent;
    uint64_t mixed = (one * 0x9E3779B97F4A7C15u) ^ (other + (other << 23)) * 0xC2B2AE3D27D4EB4Fu;
    mixed ^= mixed >> 29;
    mixed *= 0xBF58476D1CE4E5B9u;
    return (uint32_t)(mixed >> 32);
}

static inline bool same_digram(const Grammar *g, int32_t one, int32_t other) {
    const Node *a = g->nodes + one, *b = g->nodes + other;
    if (a->value != b->value || a->exponent != b->exponent) return false;
    a = g->nodes + a->after;
    b = g->nodes + b->after;
    return a->value == b->value && a->exponent == b->exponent;
}

static bool widen(Grammar *g) {
    uint32_t room = g->mask ? (g->mask + 1) * 2 : 4096;
    if (!room) return false;
    Slot *wider = malloc(room * sizeof *wider);
    if (!wider) return false;
    memset(wider, 0xFF, room * sizeof *wider);
    for (uint32_t at = 0; g->index && at <= g->mask; at++) {
        if (g->index[at].node < 0) continue;
        uint32_t to = g->index[at].hash & (room - 1);
        while (wider[to].node >= 0) to = (to + 1) & (room - 1);
        wider[to] = g->index[at];
    }
    free(g->index);
    g->index = wider;
    g->mask = room - 1;
    return true;
}

/* The node under which a digram is in the index: `left` itself if it was not there. */
static int32_t find_or_put(Grammar *g, int32_t left) {
    if (g->held >= (g->mask / 8) * 5 && !widen(g)) {
        g->failed = true;
        return left;
    }
    uint32_t hash = hash_of(g->nodes + left, g->nodes + g->nodes[left].after), at = hash & g->mask;
    for (; g->index[at].node >= 0; at = (at + 1) & g->mask)
        if (g->index[at].hash == hash && (g->index[at].node == left || same_digram(g, g->index[at].node, left)))
            return g->index[at].node;
    g->index[at] = (Slot){left, hash};
    g->nodes[left].indexed = 1;
    g->held++;
    return left;
}

/* Takes a digram that is about to change out of the index. */
static void forget(Grammar *g, int32_t left) {
    if (!g->nodes[left].indexed) return;
    uint32_t hash = hash_of(g->nodes + left, g->nodes + g->nodes[left].after), at = hash & g->mask;
    while (g->index[at].node != left) at = (at + 1) & g->mask;
    g->nodes[left].indexed = 0;
    g->held--;
    /* An entry that came after it because its own place was taken moves up. */
    for (uint32_t next = (at + 1) & g->mask; g->index[next].node >= 0; next = (next + 1) & g->mask) {
        uint32_t home = g->index[next].hash & g->mask;
        if (((next - home) & g->mask) < ((next - at) & g->mask)) continue;
        g->index[at] = g->index[next];
        at = next;
    }
    g->index[at].node = -1;
}

/* Settles a node that is new at its place: merges equal neighbours, and notes the digrams to look at. */
static void settle(Grammar *g, int32_t node) {
    Node *nodes = g->nodes;
    int32_t left = nodes[node].before, right = nodes[node].after;
    if (nodes[left].exponent && nodes[left].value == nodes[node].value) {
        forget(g, nodes[left].before);
        forget(g, node);
        nodes[left].exponent += nodes[node].exponent;
        link_nodes(g, left, right);
        drop(g, node);
        node = left;
    }
    if (nodes[right].exponent && nodes[right].value == nodes[node].value) {
        forget(g, nodes[node].before);
        forget(g, right);
        nodes[node].exponent += nodes[right].exponent;
        link_nodes(g, node, nodes[right].after);
        drop(g, right);
    }
    left = nodes[node].before;
    push(g, &g->pending, node);
    push(g, &g->pending, left);
    if (left == nodes[node].after && nodes[left].value) push(g, &g->loose, nodes[left].value);
}

/* The rule that consists of this digram; 0 without one, and for the whole sequence, which is not reused. */
static inline int32_t whole(const Grammar *g, int32_t left) {
    const Node *nodes = g->nodes;
    int32_t guard = nodes[left].before;
    return guard == nodes[nodes[left].after].after && !nodes[guard].exponent ? nodes[guard].value : 0;
}

static void replace(Grammar *g, int32_t left, int32_t rule) {
    int32_t right = g->nodes[left].after, before = g->nodes[left].before, after = g->nodes[right].after;
    forget(g, before);
    forget(g, left);
    forget(g, right);
    int32_t made = make_node(g, ~rule, 1);
    if (g->failed) return;
    link_nodes(g, before, made);
    link_nodes(g, made, after);
    drop(g, left);
    drop(g, right);
    use(g, made);
    settle(g, made);
}

static void check(Grammar *g, int32_t left) {
    if (!is_digram(g, left)) return;
    int32_t found = find_or_put(g, left), rule;
    if (found == left) return;
    if ((rule = whole(g, found))) {
        replace(g, left, rule);
    } else if ((rule = whole(g, left))) {
        replace(g, found, rule);
        push(g, &g->pending, left);
    } else {
        rule = make_rule(g);
        int32_t right = g->nodes[left].after;
        int32_t one = make_node(g, g->nodes[left].value, g->nodes[left].exponent);
        int32_t other = make_node(g, g->nodes[right].value, g->nodes[right].exponent);
        if (g->failed) return;
        int32_t guard = g->rules[rule].guard;
        link_nodes(g, guard, one);
        link_nodes(g, one, other);
        link_nodes(g, other, guard);
        use(g, one);
        use(g, other);
        replace(g, found, rule);
        replace(g, left, rule);
        if (!g->failed) find_or_put(g, one);
    }
}

/* Writes a rule of one symbol as that symbol. */
static void spell(Grammar *g, int32_t rule, int32_t value, uint32_t exponent) {
    int32_t at;
    while (!g->failed && (at = g->rules[rule].newest) >= 0) {
        Node *node = g->nodes + at;
        forget(g, node->before);
        forget(g, at);
        unuse(g, at);
        node->value = value;
        node->exponent *= exponent;
        use(g, at);
        settle(g, at);
    }
}

/* A rule of one symbol is written as that symbol; one that is used once, and not repeated there, in its place. */
static void tidy(Grammar *g, int32_t rule) {
    int32_t guard = g->rules[rule].guard;
    if (guard < 0) return;
    int32_t first = g->nodes[guard].after, last = g->nodes[guard].before, place = g->rules[rule].newest;
    if (first == last) {
        spell(g, rule, g->nodes[first].value, g->nodes[first].exponent);
        drop(g, first);
    } else if (g->rules[rule].uses == 1 && g->nodes[place].exponent == 1) {
        int32_t before = g->nodes[place].before, after = g->nodes[place].after;
        forget(g, before);
        forget(g, place);
        link_nodes(g, before, first);
        link_nodes(g, last, after);
        drop(g, place);
        settle(g, first);
        settle(g, last);
    } else return;
    g->rules[rule].guard = -1;
    g->nodes[guard].exponent = 0;
    push(g, &g->free, guard);
    push(g, &g->gone, rule);
}

static bool grammar_begin(Grammar *g) {
    *g = (Grammar){0};
    make_rule(g);
    return !g->failed && widen(g);
}

static void append(Grammar *g, int32_t terminal, uint32_t exponent) {
    int32_t node = make_node(g, terminal, exponent);
    if (g->failed) return;
    int32_t guard = g->rules[0].guard;
    link_nodes(g, g->nodes[guard].before, node);
    link_nodes(g, node, guard);
    settle(g, node);
    while (!g->failed) {
        if (g->loose.count) tidy(g, g->loose.items[--g->loose.count]);
        else if (g->pending.count) check(g, g->pending.items[--g->pending.count]);
        else return;
    }
}

bool grammar_of(Grammar *g, const int32_t *sequence, int64_t count) {
    if (!grammar_begin(g)) return false;
    for (int64_t at = 0; at < count && !g->failed;) {
        int64_t since = at;
        while (at < count && sequence[at] == sequence[since]) at++;
        append(g, sequence[since], (uint32_t)(at - since));
    }
    return !g->failed;
}

void grammar_free(Grammar *g) {
    free(g->nodes);
    free(g->uses);
    free(g->rules);
    free(g->index);
    free(g->free.items);
    free(g->gone.items);
    free(g->pending.items);
    free(g->loose.items);
}
