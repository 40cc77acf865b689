#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "nesting.h"

typedef struct {
    uint64_t key;
    int64_t ts, row;
    uint32_t process;
    uint8_t family, kind;
    bool is_source, gone; /* has it left its process's hands? */
} Keyed;

typedef struct {
    int64_t *last; /* places in a run of equal keys */
    uint32_t *process;
    size_t room;
} Owners;

static inline uint64_t scatter(uint64_t key, uint8_t family) {
    key = (key ^ (uint64_t)family << 56) * 0x9E3779B97F4A7C15u;
    return (key ^ key >> 32) * 0xBF58476D1CE4E5B9u;
}

/* The family that a row takes part in, 0 for none. */
static inline uint8_t takes_part(const Records *of, const Roles *roles, const uint8_t *wanted, int64_t row) {
    uint8_t family = roles->family[of->kind[row]];
    if (!wanted[family]) return 0;
    int32_t ext = of->ext[row];
    return ext < 0 || !of->key[ext] || of->flags[ext] & of->without ? 0 : family;
}

static inline bool before(const Keyed *a, const Keyed *b, const Records *of) {
    if (a->key != b->key) return a->key < b->key;
    if (a->family != b->family) return a->family < b->family;
    if (a->ts != b->ts) return a->ts < b->ts;
    return get_row(of->sequence, of->wide, a->row) < get_row(of->sequence, of->wide, b->row);
}

/* Merges runs that ascend, two at a time, until there is one; gives the array that has it. */
static Keyed *in_order(Keyed *from, Keyed *to, size_t count, const Records *of) {
    if (count <= SHORT) {
        for (size_t i = 1; i < count; i++) {
            Keyed one = from[i];
            size_t place = i;
            for (; place && before(&one, from + place - 1, of); place--) from[place] = from[place - 1];
            from[place] = one;
        }
        return from;
    }
    for (;;) {
        size_t runs = 0;
        for (size_t low = 0; low < count; runs++) {
            size_t middle = low + 1, high, put = low;
            while (middle < count && !before(from + middle, from + middle - 1, of)) middle++;
            if (!low && middle == count) return from;
            high = middle + (middle < count);
            while (high < count && !before(from + high, from + high - 1, of)) high++;
            size_t left = low, right = middle;
            while (left < middle && right < high)
                to[put++] = before(from + right, from + left, of) ? from[right++] : from[left++];
            memcpy(to + put, from + left, (middle - left) * sizeof *to);
            memcpy(to + put + (middle - left), from + right, (high - right) * sizeof *to);
            low = high;
        }
        Keyed *other = from;
        from = to;
        to = other;
        if (runs == 1) return from;
    }
}

/* Where the last source of a process is noted. */
static int64_t *owned_by(const Owners *owners, size_t mask, uint32_t process) {
    size_t at = process * 0x9E3779B1u & mask;
    while (owners->last[at] >= 0 && owners->process[at] != process) at = (at + 1) & mask;
    owners->process[at] = process;
    return owners->last + at;
}

static bool owners_clear(Owners *owners, size_t sources, size_t *mask) {
    size_t size = 4;
    while (size < sources * 2) size *= 2;
    if (size > owners->room) {
        free(owners->last);
        free(owners->process);
        owners->last = malloc(size * sizeof *owners->last);
        owners->process = malloc(size * sizeof *owners->process);
        owners->room = owners->last && owners->process ? size : 0;
    }
    *mask = size - 1;
    if (owners->room) memset(owners->last, 0xFF, size * sizeof *owners->last);
    return owners->room != 0;
}

/* A run of one key in the order of time. False: no memory. */
static bool pair_run(Keyed *run, size_t count, const Roles *roles, Owners *owners, Found *found) {
    uint8_t family = run->family;
    bool alone = true, handed_over = roles->handed_over[family];
    size_t sources = 0, mask = 0;
    for (size_t at = 0; at < count; at++) {
        sources += run[at].is_source;
        alone &= run[at].process == run->process;
    }
    if (!alone && !owners_clear(owners, sources, &mask)) return false;
    int64_t latest = -1;
    for (size_t at = 0; at < count; at++) {
        Keyed *one = run + at;
        if (one->is_source) {
            latest = (int64_t)at;
            if (!alone) *owned_by(owners, mask, one->process) = latest;
            continue;
        }
        int64_t source = latest;
        if (!alone && latest >= 0) {
            size_t slot = one->process * 0x9E3779B1u & mask;
            while (owners->last[slot] >= 0 && owners->process[slot] != one->process) slot = (slot + 1) & mask;
            int64_t own = owners->last[slot];
            if (own >= 0 && !(handed_over && run[own].gone)) source = own;
        }
        if (source < 0) {
            found->missed[one->kind]++;
            continue;
        }
        run[source].gone |= run[source].process != one->process;
        found->src[found->edges] = run[source].row;
        found->dst[found->edges] = one->row;
        found->kind[found->edges++] = roles->edge[family];
    }
    return true;
}

/* A part: first by more of the hash, then each of those few in order; `spare` has room for as many. */
static bool pair_part(Keyed *part, Keyed *spare, size_t count, unsigned bits, const Records *of, const Roles *roles,
                      Owners *owners, Found *found) {
    uint32_t stop[FINE];
    size_t fine = 1;
    unsigned width = 0;
    while (fine < count && fine < FINE) {
        fine *= 2;
        width++;
    }
    unsigned shift = 64 - bits - width;
    memset(stop, 0, fine * sizeof *stop);
#define GROUP(one) ((size_t)(scatter((one).key, (one).family) >> shift) & (fine - 1))
    for (size_t at = 0; at < count; at++) stop[GROUP(part[at])]++;
    size_t sum = 0;
    for (size_t group = 0; group < fine; group++) {
        size_t here = stop[group];
        stop[group] = (uint32_t)sum;
        sum += here;
    }
    for (size_t at = 0; at < count; at++) spare[stop[GROUP(part[at])]++] = part[at];
#undef GROUP
    size_t low = 0;
    for (size_t group = 0; group < fine; low = stop[group++]) {
        size_t here = stop[group] - low;
        if (!here) continue;
        Keyed *run = in_order(spare + low, part + low, here, of);
        for (size_t begin = 0, at = 1; at <= here; at++) {
            if (at < here && run[at].key == run[begin].key && run[at].family == run[begin].family) continue;
            if (!pair_run(run + begin, at - begin, roles, owners, found)) return false;
            begin = at;
        }
    }
    return true;
}

Pairing pair_all(const Records *of, const Roles *roles, int64_t granted, Found *found) {
    int64_t by_kind[256] = {0}, keyed = 0, targets = 0, events = of->strand_start[of->strands];
    for (int64_t row = 0; row < events; row++) by_kind[of->kind[row]]++;
    /* Sources without a target need not be gathered. */
    uint8_t wanted[FAMILIES + 1] = {0};
    for (int kind = 0; kind < 256; kind++)
        if (roles->family[kind] && !roles->source[kind] && by_kind[kind]) wanted[roles->family[kind]] = 1;
    for (int kind = 0; kind < 256; kind++)
        if (wanted[roles->family[kind]]) keyed += by_kind[kind];
    unsigned bits = 1;
    while (bits < MOST_BITS && keyed >> bits > PART) bits++;
    size_t parts = (size_t)1 << bits;
    int64_t *size = calloc(parts, sizeof *size), *next = malloc(parts * sizeof *next), most = 0;
    Keyed *held = NULL, *spare = NULL;
    Owners owners = {NULL, NULL, 0};
    Pairing result = NO_MEMORY;
    if (!size || !next) goto done;
    keyed = 0;
    for (int64_t row = 0; row < events; row++) {
        uint8_t family = takes_part(of, roles, wanted, row);
        if (!family) continue;
        size[scatter(of->key[of->ext[row]], family) >> (64 - bits)]++;
        targets += !roles->source[of->kind[row]];
        keyed++;
    }
    result = NO_ROOM;
    if (targets > found->room) goto done;
    result = PAIRED;
    if (!targets) goto done;
    int64_t most_held = keyed / ROUNDS > granted ? keyed / ROUNDS : granted;
    if (most_held > keyed) most_held = keyed;
    for (size_t part = 0; part < parts; part++)
        if (size[part] > most) most = size[part];
    if (most_held < most) most_held = most;
    held = malloc((size_t)most_held * sizeof *held);
    spare = malloc((size_t)most * sizeof *spare);
    if (!held || !spare || most > UINT32_MAX) result = NO_MEMORY;
    for (size_t low = 0, high; low < parts && result == PAIRED; low = high) {
        int64_t sum = 0;
        for (high = low; high < parts && sum + size[high] <= most_held; high++) {
            next[high] = sum;
            sum += size[high];
        }
        for (int64_t strand = 0; strand < of->strands; strand++) {
            uint32_t process = of->process[strand];
            for (int64_t row = of->strand_start[strand]; row < of->strand_start[strand + 1]; row++) {
                uint8_t family = takes_part(of, roles, wanted, row), kind = of->kind[row];
                if (!family) continue;
                uint64_t key = of->key[of->ext[row]];
                size_t part = scatter(key, family) >> (64 - bits);
                if (part < low || part >= high) continue;
                held[next[part]++] = (Keyed){key, of->ts[row], row, process, family, kind, roles->source[kind], false};
            }
        }
        int64_t begin = 0;
        for (size_t part = low; part < high && result == PAIRED; part++) {
            if (!pair_part(held + begin, spare, (size_t)size[part], bits, of, roles, &owners, found)) result = NO_MEMORY;
            begin += size[part];
        }
    }
done:
    free(size);
    free(next);
    free(held);
    free(spare);
    free(owners.last);
    free(owners.process);
    return result;
}
