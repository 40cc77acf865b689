#include "nesting.h"

#include <stdlib.h>
#include <string.h>

#include "trace_format.h"

typedef struct {
    uint32_t site;
    int64_t number; /* of the call, among all */
} Frame;

typedef struct {
    int64_t number, row, below; /* the one of its site that was suspended before it, -1 for none */
} Asleep;

void finder_make(Finder *finder, const int64_t *enter, int64_t calls) {
    finder->enter = enter;
    finder->calls = calls;
    memset(finder->row, 0xFF, sizeof finder->row);
}

typedef struct {
    uint32_t *running; /* per site: its frames on the stack */
    int64_t *asleep;   /* per site: the last one suspended, -1 for none */
    Frame *stack;
    size_t depth, deepest;
    Asleep *sleepers;
    int64_t used, room;
} Walk;

static bool nest_push(Walk *walk, uint32_t site, int64_t number) {
    if (walk->depth == walk->deepest) {
        size_t deepest = walk->deepest * 2 + 64;
        Frame *grown = realloc(walk->stack, deepest * sizeof *grown);
        if (!grown) return false;
        walk->stack = grown;
        walk->deepest = deepest;
    }
    walk->stack[walk->depth++] = (Frame){site, number};
    walk->running[site]++;
    return true;
}

static bool nest_sleep(Walk *walk, uint32_t site, int64_t number, int64_t row) {
    if (walk->used == walk->room) {
        int64_t room = walk->room * 2 + 64;
        Asleep *grown = realloc(walk->sleepers, (size_t)room * sizeof *grown);
        if (!grown) return false;
        walk->sleepers = grown;
        walk->room = room;
    }
    walk->sleepers[walk->used] = (Asleep){number, row, walk->asleep[site]};
    walk->asleep[site] = walk->used++;
    return true;
}

/* The call of the site that was suspended last and continues at `row`; -1 without one. */
static int64_t nest_wake(Walk *walk, Nested *to, uint32_t site, int64_t row) {
    if (walk->asleep[site] < 0) return -1;
    const Asleep *last = walk->sleepers + walk->asleep[site];
    walk->asleep[site] = last->below;
    to->pauses[2 * to->paused] = last->row;
    to->pauses[2 * to->paused++ + 1] = row;
    return last->number;
}

static int64_t nest_pop(Walk *walk, Nested *to, uint32_t site, int64_t row) {
    if (!walk->running[site]) return nest_wake(walk, to, site, row);
    for (;;) {
        Frame top = walk->stack[--walk->depth];
        walk->running[top.site]--;
        if (top.site == site) return top.number;
    }
}

/* Undoes what a strand left in the tables by site. */
static void nest_clear(Walk *walk, const uint8_t *kind, const uint32_t *site, int64_t start, int64_t stop) {
    while (walk->depth) walk->running[walk->stack[--walk->depth].site]--;
    if (!walk->used) return;
    walk->used = 0;
    for (int64_t row = start; row < stop; row++)
        if (kind[row] == KIND_SUSPEND) walk->asleep[site[row]] = -1;
}

bool nest_all(const uint8_t *kind, const uint32_t *site, size_t sites, const int64_t *strand_start, int64_t strands,
              Nested *to) {
    Walk walk = {calloc(sites, sizeof *walk.running), malloc(sites * sizeof *walk.asleep), NULL, 0, 0, NULL, 0, 0};
    bool ok = walk.running && walk.asleep;
    if (ok) memset(walk.asleep, 0xFF, sites * sizeof *walk.asleep);
    for (int64_t strand = 0; ok && strand < strands; strand++) {
        int64_t start = strand_start[strand], stop = strand_start[strand + 1], inner = -1;
        for (int64_t row = start; ok && row < stop; row++) {
            if (is_cancelled(to->thrown, (uint64_t)row)) {
                to->cancelled = true;
                ok = false;
                break;
            }
            uint8_t what = kind[row];
            int64_t call = inner;
            if (what == KIND_ENTER || what == KIND_RESUME) {
                int64_t number = what == KIND_RESUME ? nest_wake(&walk, to, site[row], row) : -1;
                if (number < 0) {
                    number = to->calls++;
                    to->enter[number] = row;
                    to->exit[number] = -1;
                    to->caller[number] = inner;
                }
                ok = nest_push(&walk, site[row], number);
                call = inner = to->enter[number];
            } else if (what == KIND_EXIT || what == KIND_UNWIND || what == KIND_SUSPEND) {
                int64_t number = nest_pop(&walk, to, site[row], row);
                call = number < 0 ? -1 : to->enter[number];
                if (number < 0) to->unmatched++;
                else if (what == KIND_SUSPEND) ok = nest_sleep(&walk, site[row], number, row);
                else to->exit[number] = row;
                inner = walk.depth ? to->enter[walk.stack[walk.depth - 1].number] : -1;
            }
            put_row(to->call, to->wide, row, call);
            put_row(to->inner, to->wide, row, inner);
        }
        if (ok) nest_clear(&walk, kind, site, start, stop);
    }
    free(walk.running);
    free(walk.asleep);
    free(walk.stack);
    free(walk.sleepers);
    return ok;
}
