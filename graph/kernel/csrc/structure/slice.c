#include "slice.h"

#include <stdlib.h>

static bool start_below(const Slicing *s, uint32_t region) {
    size_t low = 0, high = s->start_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->starts[middle] <= region) low = middle + 1;
        else high = middle;
    }
    return low < s->start_count && s->starts[low] < s->plane->end[region];
}

static void note_move(Slicing *s, uint32_t region, uint32_t before, uint32_t position) {
    const uint32_t *start = s->plane->start;
    Move move = {region, position, before ? bound_of(s, before) : start[region + 1]};
    if (!s->forward) move = (Move){region, before ? before : start[region], position + 1};
    Moves_push(s->moves, move);
}

static inline void reach(Slicing *s, uint32_t region, uint32_t position, uint32_t place) {
    State *state = &s->state[region];
    uint32_t low, high, reached = reach_of(s, position);
    if (reached <= state->reach) return;
    if (s->by_trees && !state->reach && position == s->plane->start[region] && !start_below(s, region)) {
        uint32_t end = s->plane->end[region], stop = s->plane->out_first[end];
        *state = (State){reached, place};
        Ranges_push(&s->whole, (Range){region, end});
        if (place < stop) {
            Ranges_push(&s->sides, (Range){place, stop});
            __builtin_prefetch(&s->plane->follow[place >> 6]);
            __builtin_prefetch(&s->plane->out[place]);
        }
        return;
    }
    if (s->moves) note_move(s, region, state->reach, position);
    if (!state->reach) {
        Numbers_push(&s->reached, region);
        low = s->forward ? place : s->plane->in_first[region];
        high = s->forward ? s->plane->out_first[region + 1] : place;
    } else {
        low = s->forward ? place : state->covered;
        high = s->forward ? state->covered : place;
    }
    state->reach = reached;
    state->covered = place;
    if (low < high) Ranges_push(&s->ranges, (Range){low, high});
}

void reach_position(Slicing *s, uint32_t region, uint32_t position) {
    reach(s, region, position, s->forward ? first_out(s->plane, region, position) : last_in(s->plane, region, position));
}

/* Follows the edges of one range; those to other processes are put off when `later` is given. */
static void follow_range(Slicing *s, Range range, Numbers *later) {
    const Plane *plane = s->plane;
    s->followed += range.high - range.low;
    for (uint32_t i = range.low; i < range.high; i++) {
        uint32_t place = s->forward ? i : plane->into[i].place;
        if (!allows(plane, s->allowed, place)) continue;
        if (later && crosses(s, place)) {
            Numbers_push(later, i);
            continue;
        }
        if (s->forward) {
            if (i + 6 < range.high) __builtin_prefetch(&s->state[plane->out[i + 6].far_region], 1);
            Out out = plane->out[i];
            reach(s, out.far_region, out.far, out.next);
        } else {
            Into into = plane->into[i];
            if (reach_of(s, into.far) > s->state[into.far_region].reach) reach_position(s, into.far_region, into.far);
        }
    }
}

#define AHEAD 64

/* Follows the side edges of noted ranges, many at once so that what they lead to is fetched meanwhile. */
static void follow_sides(Slicing *s) {
    const Plane *plane = s->plane;
    Out found[2 * AHEAD];
    uint32_t count = 0;
    while (s->sides.count && count < AHEAD) {
        Range *range = &s->sides.items[s->sides.count - 1];
        uint32_t word = range->low >> 6;
        uint64_t next = ((uint64_t)word + 1) << 6;
        uint64_t left = plane->follow[word] & ~0ull << (range->low & 63);
        if (next > range->high) left &= (1ull << (range->high & 63)) - 1;
        for (; left; left &= left - 1) {
            Out out = plane->out[(word << 6) + (uint32_t)__builtin_ctzll(left)];
            __builtin_prefetch(&s->state[out.far_region], 1);
            __builtin_prefetch(&plane->start[out.far_region]);
            __builtin_prefetch(&plane->end[out.far_region]);
            __builtin_prefetch(&plane->out_first[out.far_region]);
            found[count++] = out;
        }
        if (next >= range->high) {
            s->followed += range->high - range->low;
            s->sides.count--;
        } else {
            s->followed += (uint32_t)next - range->low;
            range->low = (uint32_t)next;
        }
    }
    for (uint32_t i = 0; i < count; i++) reach(s, found[i].far_region, found[i].far, found[i].next);
}

void slice_run(Slicing *s, int64_t max_hops, int64_t max_network_hops) {
    if (max_hops >= 0) {
        Ranges round = {0};
        for (int64_t hops = 0; hops < max_hops && s->ranges.count && !s->ranges.failed; hops++) {
            Ranges other = round;
            round = s->ranges;
            s->ranges = other;
            s->ranges.count = 0;
            for (size_t i = 0; i < round.count; i++) follow_range(s, round.items[i], NULL);
        }
        free(round.items);
        return;
    }
    Numbers later = {0}, now = {0};
    for (int64_t hops = 0;; hops++) {
        while (s->ranges.count + s->sides.count && !s->ranges.failed && !s->sides.failed) {
            if (s->sides.count) follow_sides(s);
            else follow_range(s, s->ranges.items[--s->ranges.count], max_network_hops >= 0 ? &later : NULL);
        }
        /* Everything within so many network hops is known: only now the edges to other processes. */
        if (hops == max_network_hops || !later.count || later.failed) break;
        Numbers other = now;
        now = later;
        later = other;
        later.count = 0;
        for (size_t i = 0; i < now.count; i++) {
            uint32_t at = now.items[i];
            if (s->forward) reach(s, s->plane->out[at].far_region, s->plane->out[at].far, s->plane->out[at].next);
            else reach_position(s, s->plane->into[at].far_region, s->plane->into[at].far);
        }
    }
    s->ranges.failed |= later.failed;
    free(later.items);
    free(now.items);
}

/* Both limits at once: a region has a bound per number of network hops spent, as an event that was reached both by few hops
 * and by few network hops keeps both. They are in a table by (region, network hops). */
typedef struct {
    uint64_t *keys; /* (region << 32 | network hops) + 1, 0 where free */
    uint32_t *reaches;
    size_t count, room; /* a power of two */
} Spent;

static size_t spent_at(const Spent *spent, uint64_t key) {
    size_t at = (key * 0x9E3779B97F4A7C15ull >> 20) & (spent->room - 1);
    while (spent->keys[at] && spent->keys[at] != key) at = (at + 1) & (spent->room - 1);
    return at;
}

static bool spent_set(Spent *spent, uint64_t key, uint32_t reach_) {
    if (spent->count * 2 >= spent->room) {
        Spent larger = {NULL, NULL, spent->count, spent->room ? spent->room * 2 : 1024};
        larger.keys = calloc(larger.room, sizeof *larger.keys);
        larger.reaches = malloc(larger.room * sizeof *larger.reaches);
        if (!larger.keys || !larger.reaches) {
            free(larger.keys);
            free(larger.reaches);
            return false;
        }
        for (size_t i = 0; i < spent->room; i++)
            if (spent->keys[i]) {
                size_t at = spent_at(&larger, spent->keys[i]);
                larger.keys[at] = spent->keys[i];
                larger.reaches[at] = spent->reaches[i];
            }
        free(spent->keys);
        free(spent->reaches);
        *spent = larger;
    }
    size_t at = spent_at(spent, key);
    spent->count += !spent->keys[at];
    spent->keys[at] = key;
    spent->reaches[at] = reach_;
    return true;
}

typedef struct {
    uint32_t region, network_hops, reach;
} Reached;
LIST(Frontier, Reached)

static void limited_reach(Slicing *s, Spent *spent, Frontier *next, Reached at) {
    for (uint32_t fewer = 0; fewer <= at.network_hops && spent->room; fewer++) {
        uint64_t key = ((uint64_t)at.region << 32 | fewer) + 1;
        size_t found = spent_at(spent, key);
        if (spent->keys[found] && spent->reaches[found] >= at.reach) return;
    }
    if (!spent_set(spent, ((uint64_t)at.region << 32 | at.network_hops) + 1, at.reach)) next->failed = true;
    Frontier_push(next, at);
    State *state = &s->state[at.region];
    if (!state->reach) Numbers_push(&s->reached, at.region);
    if (at.reach > state->reach) state->reach = at.reach;
}

static void limited_follow(Slicing *s, Spent *spent, Frontier *next, Reached at, uint32_t most) {
    const Plane *plane = s->plane;
    uint32_t position = bound_of(s, at.reach);
    uint32_t low = s->forward ? first_out(plane, at.region, position) : plane->in_first[at.region];
    uint32_t high = s->forward ? plane->out_first[at.region + 1] : last_in(plane, at.region, position);
    s->followed += high - low;
    for (uint32_t i = low; i < high; i++) {
        uint32_t place = s->forward ? i : plane->into[i].place;
        if (!allows(plane, s->allowed, place)) continue;
        uint32_t network_hops = at.network_hops + crosses(s, place);
        if (network_hops > most) continue;
        uint32_t region = s->forward ? plane->out[i].far_region : plane->into[i].far_region;
        uint32_t far = s->forward ? plane->out[i].far : plane->into[i].far;
        limited_reach(s, spent, next, (Reached){region, network_hops, reach_of(s, far)});
    }
}

void slice_limited(Slicing *s, const uint32_t *regions, const uint32_t *positions, size_t count, int64_t max_hops,
                   uint32_t max_network_hops) {
    Spent spent = {0};
    Frontier round = {0}, next = {0};
    for (size_t i = 0; i < count; i++) limited_reach(s, &spent, &next, (Reached){regions[i], 0, reach_of(s, positions[i])});
    for (int64_t hops = 0; hops < max_hops && next.count && !next.failed; hops++) {
        Frontier other = round;
        round = next;
        next = other;
        next.count = 0;
        /* If one round gave a region several bounds, the best one covers the others. */
        size_t kept = 0;
        for (size_t i = 0; i < round.count; i++) {
            Reached at = round.items[i];
            size_t best = spent_at(&spent, ((uint64_t)at.region << 32 | at.network_hops) + 1);
            if (spent.reaches[best] == at.reach) round.items[kept++] = at;
        }
        for (size_t i = 0; i < kept; i++) limited_follow(s, &spent, &next, round.items[i], max_network_hops);
    }
    s->ranges.failed |= next.failed || round.failed;
    free(spent.keys);
    free(spent.reaches);
    free(round.items);
    free(next.items);
}
