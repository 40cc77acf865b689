#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "trace_format.h"

void stepper_free(Stepper *stepper) {
    free(stepper->strands.keys);
    free(stepper->known.slots);
    free(stepper->stack);
}

/* Room for one more item of `width` bytes; false without memory. */
static bool make_room(void **items, size_t *room, size_t count, size_t width) {
    if (count < *room) return true;
    size_t more = *room * 2 + 16;
    void *grown = realloc(*items, more * width);
    if (!grown) return false;
    *items = grown;
    *room = more;
    return true;
}

static uint64_t key_of_strand(const Stepper *stepper, uint32_t strand) {
    return stepper->strands.keys[strand - stepper->strands.first];
}

static size_t slot_of_key(const Stepper *stepper, uint64_t key) {
    uint64_t mixed = (key ^ (key >> 32)) * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(mixed >> 20) & stepper->known.mask;
    for (; stepper->known.slots[at]; at = (at + 1) & stepper->known.mask)
        if (key_of_strand(stepper, stepper->known.slots[at] - 1) == key) break;
    return at;
}

void remember_since(Stepper *stepper, size_t size) {
    Known *known = &stepper->known;
    if (size != known->mask + 1 || !known->slots) {
        free(known->slots);
        known->slots = calloc(size, sizeof *known->slots);
        known->mask = size - 1;
        if (!known->slots) {
            stepper->failed = true;
            return;
        }
    } else memset(known->slots, 0, size * sizeof *known->slots);
    known->used = 0;
    uint32_t end = stepper->strands.first + (uint32_t)stepper->strands.count;
    for (uint32_t strand = stepper->since; strand < end; strand++) {
        size_t at = slot_of_key(stepper, key_of_strand(stepper, strand));
        if (known->slots[at]) continue;
        known->slots[at] = strand + 1;
        known->used++;
    }
}

static uint32_t strand_add(Stepper *stepper, uint64_t key) {
    Keys *strands = &stepper->strands;
    if (!make_room((void **)&strands->keys, &strands->room, strands->count, sizeof *strands->keys)) {
        stepper->failed = true;
        return 0;
    }
    strands->keys[strands->count] = key;
    return strands->first + (uint32_t)strands->count++;
}

static void step_push(Stepper *stepper, uint64_t key) {
    size_t at = slot_of_key(stepper, key);
    uint32_t strand;
    if (stepper->known.slots[at]) strand = stepper->known.slots[at] - 1;
    else {
        strand = strand_add(stepper, key);
        if (stepper->failed) return;
        stepper->known.slots[at] = strand + 1;
        if (++stepper->known.used * 2 > stepper->known.mask) remember_since(stepper, (stepper->known.mask + 1) * 2);
    }
    if (make_room((void **)&stepper->stack, &stepper->room, stepper->depth, sizeof *stepper->stack))
        stepper->stack[stepper->depth++] = strand;
    else stepper->failed = true;
}

static void step_pop(Stepper *stepper, uint64_t key) {
    if (stepper->depth == 1) {
        stepper->unmatched++;
        return;
    }
    uint32_t ended = stepper->known.slots[slot_of_key(stepper, key)];
    if (ended && stepper->stack[stepper->depth - 1] != ended - 1) {
        size_t at = stepper->depth - 1;
        while (at && stepper->stack[at] != ended - 1) at--;
        /* An end names its strand, so steps above it that lack theirs end with it. */
        if (at) stepper->depth = at + 1;
    }
    stepper->depth--;
}

static void steps_dropped(Stepper *stepper) {
    stepper->since = strand_add(stepper, 0);
    if (stepper->failed) return;
    stepper->stack[0] = stepper->since;
    stepper->depth = 1;
    remember_since(stepper, 16);
}

void step_all(Stepper *stepper, const uint8_t *kind, const uint32_t *site, const int32_t *ext, const uint64_t *key,
              int64_t records, uint32_t *strand) {
    for (int64_t row = 0; row < records && !stepper->failed; row++) {
        uint8_t what = kind[row];
        bool lost = what == KIND_GAP && !site[row];
        if (what == KIND_STEP_BEGIN) step_push(stepper, ext[row] < 0 ? 0 : key[ext[row]]);
        else if (lost && !stepper->dropped) steps_dropped(stepper);
        stepper->dropped = lost;
        strand[row] = stepper->stack[stepper->depth - 1];
        if (what == KIND_STEP_END) step_pop(stepper, ext[row] < 0 ? 0 : key[ext[row]]);
    }
}
