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
    uint32_t site;
    int64_t number, owner; /* owner: the call whose suspension set it aside */
} Aside;

typedef struct {
    uint32_t *running; /* per site: its frames on the stack */
    uint8_t *gapped;   /* per site: whether ends of its calls may be missing */
    int64_t *asleep;   /* per site: the last one suspended, -1 for none */
    Frame *stack;
    size_t depth, deepest;
    Asleep *sleepers;
    int64_t used, room;
    Aside *asides; /* a call that is above another one comes after it */
    size_t set, space;
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

static bool set_aside(Walk *walk, Frame frame, int64_t owner) {
    if (walk->set == walk->space) {
        size_t space = walk->space * 2 + 64;
        Aside *grown = realloc(walk->asides, space * sizeof *grown);
        if (!grown) return false;
        walk->asides = grown;
        walk->space = space;
    }
    walk->asides[walk->set++] = (Aside){frame.site, frame.number, owner};
    return true;
}

/* Takes the calls out that the suspensions of `owner` set aside, and puts them back on the stack if it runs again. */
static bool nest_return(Walk *walk, int64_t owner, bool runs) {
    size_t kept = 0, set = walk->set;
    bool ok = true;
    for (size_t at = 0; at < set; at++) {
        Aside aside = walk->asides[at];
        if (aside.owner != owner) walk->asides[kept++] = aside;
        else if (runs && ok) ok = nest_push(walk, aside.site, aside.number);
    }
    walk->set = kept;
    return ok;
}

/* The innermost call of the site that was set aside and ends here, with the calls above it; -1 without one. */
static int64_t nest_end_aside(Walk *walk, uint32_t site) {
    size_t at = walk->set;
    while (at && walk->asides[at - 1].site != site) at--;
    if (!at) return -1;
    Aside ended = walk->asides[--at];
    size_t kept = at;
    for (size_t above = at + 1; above < walk->set; above++)
        if (walk->asides[above].owner != ended.owner) walk->asides[kept++] = walk->asides[above];
    walk->set = kept;
    return ended.number;
}

/* The call that ends or pauses at `row`; -1 without one. */
static int64_t nest_pop(Walk *walk, Nested *to, uint32_t site, int64_t row) {
    if (!walk->running[site]) {
        int64_t number = nest_wake(walk, to, site, row);
        return number < 0 && walk->set ? nest_end_aside(walk, site) : number;
    }
    for (;;) {
        Frame top = walk->stack[--walk->depth];
        walk->running[top.site]--;
        if (top.site == site) return top.number;
    }
}

/* Before a call of the site pauses: the calls above it, which run in greenlets, pause with it. Into a suspended call that
 * pauses again, an exception was thrown; all calls are above it if they began meanwhile. */
static bool nest_pause_above(Walk *walk, const Nested *to, uint32_t site) {
    size_t place = walk->depth;
    int64_t owner;
    if (walk->running[site]) {
        while (walk->stack[place - 1].site != site) place--;
        owner = walk->stack[place - 1].number;
    } else {
        if (walk->asleep[site] < 0 || !place) return true;
        const Asleep *last = walk->sleepers + walk->asleep[site];
        if (to->enter[walk->stack[0].number] < last->row) return true;
        owner = last->number;
        place = 0;
    }
    for (size_t at = place; at < walk->depth; at++)
        if (!walk->gapped[walk->stack[at].site] && !set_aside(walk, walk->stack[at], owner)) return false;
    while (walk->depth > place) walk->running[walk->stack[--walk->depth].site]--;
    return true;
}

/* Undoes what a strand left in the tables by site. */
static void nest_clear(Walk *walk, const uint8_t *kind, const uint32_t *site, int64_t start, int64_t stop) {
    while (walk->depth) walk->running[walk->stack[--walk->depth].site]--;
    walk->set = 0;
    if (!walk->used) return;
    walk->used = 0;
    for (int64_t row = start; row < stop; row++)
        if (kind[row] == KIND_SUSPEND) walk->asleep[site[row]] = -1;
}

bool nest_all(const uint8_t *kind, const uint32_t *site, size_t sites, const int64_t *strand_start, int64_t strands,
              Nested *to) {
    Walk walk = {.running = calloc(sites, sizeof *walk.running),
                 .gapped = calloc(sites, sizeof *walk.gapped),
                 .asleep = malloc(sites * sizeof *walk.asleep)};
    bool ok = walk.running && walk.gapped && walk.asleep;
    if (ok) memset(walk.asleep, 0xFF, sites * sizeof *walk.asleep);
    for (int64_t row = strand_start[0]; ok && row < strand_start[strands]; row++)
        if (kind[row] == KIND_GAP) walk.gapped[site[row]] = true;
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
                call = to->enter[number];
                if (what == KIND_RESUME && walk.set) ok = ok && nest_return(&walk, number, true);
                inner = to->enter[walk.stack[walk.depth - 1].number];
            } else if (what == KIND_EXIT || what == KIND_UNWIND || what == KIND_SUSPEND) {
                if (what == KIND_SUSPEND) ok = nest_pause_above(&walk, to, site[row]);
                int64_t number = nest_pop(&walk, to, site[row], row);
                call = number < 0 ? -1 : to->enter[number];
                if (number < 0) to->unmatched++;
                else if (what == KIND_SUSPEND) ok = ok && nest_sleep(&walk, site[row], number, row);
                else {
                    to->exit[number] = row;
                    if (walk.set) nest_return(&walk, number, false);
                }
                inner = walk.depth ? to->enter[walk.stack[walk.depth - 1].number] : -1;
            }
            put_row(to->call, to->wide, row, call);
            put_row(to->inner, to->wide, row, inner);
        }
        if (ok) nest_clear(&walk, kind, site, start, stop);
    }
    free(walk.running);
    free(walk.gapped);
    free(walk.asides);
    free(walk.asleep);
    free(walk.stack);
    free(walk.sleepers);
    return ok;
}
