/* The shared parts of both directions of the codec: its numbers, its streams, and the working memory of a call. */
#ifndef CLEW_SCRATCH_H
#define CLEW_SCRATCH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "trace_format.h"

enum {
    UNITS = MAX_CHUNK / RECORD_SIZE,
    MOST_UNIT = 255,
    FAR = 252,
    NEAR = 253,
    COUNTED = 254,
    NEW = 255,
    MAX_FAMILIES = 256,
    NEAR_BITS = 24,
    COUNTED_BITS = 16,
    SLOTS = 2 * UNITS,
    STEP_BYTES = 11, /* of a step at most */
    BEHIND = 32,     /* bytes that may be read or stored behind the steps' bits */
};

#define STRIDE UINT64_C(0x9E3779B97F4A7C15)
#define INVERSE UINT64_C(0xF1DE83E19937733D) /* STRIDE * INVERSE == 1 */

typedef struct {
    const uint8_t *at;
    Py_ssize_t length;
} Stream;

/* The usual steps in a context: see rice.h. */
typedef struct {
    int32_t usual, spread, seen;
} Context;

/* The working memory of one call. All calls share it under the interpreter's lock: from the first store to the last load
 * they allocate no object of the garbage collector, so no other Python code runs in between. Fresh pages would cost more
 * than the compression. */
typedef struct {
    uint64_t times[UNITS + 1], words[UNITS + 1], steps[UNITS + 1], table[UNITS + 1], values[UNITS + 1];
    uint64_t heads[UNITS + 1], keys[UNITS + 1], head_table[UNITS + 1], news[UNITS + 1], latest[UNITS + 1];
    uint16_t which[UNITS + 1], which_head[UNITS + 1], back[UNITS + 1], counted[UNITS + 1];
    uint32_t near[UNITS + 1], texts[UNITS + 1];
    uint8_t codes[UNITS + 1], families[UNITS + 1], rests[UNITS + 1];
    uint8_t coded[STEP_BYTES * UNITS + BEHIND];
    Context anything, of_word[UNITS + 1], of_pair[UNITS + 1];
    uint64_t pair_names[UNITS + 1];
    uint32_t pair_mask;
    Py_ssize_t pairs;
    uint16_t slots[SLOTS], family_slots[SLOTS], count_slots[SLOTS]; /* of hash tables: 1 + a number, 0 for none */
    uint64_t family_names[MAX_FAMILIES], count_names[MAX_FAMILIES];
    uint16_t seen[UNITS + 1]; /* the last extension with the same key as this first one */
} Work;
extern Work shared;

static inline uint64_t load(const uint8_t *from, int size) {
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (size == 8) {
        uint64_t value;
        memcpy(&value, from, 8);
        return value;
    }
#endif
    uint64_t value = 0;
    for (int place = 0; place < size; place++) value |= (uint64_t)from[place] << 8 * place;
    return value;
}

static inline void store(uint8_t *to, uint64_t value, int size) {
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (size == 8) {
        memcpy(to, &value, 8);
        return;
    }
#endif
    for (int place = 0; place < size; place++) to[place] = (uint8_t)(value >> 8 * place);
}

static inline int bit_length(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

static inline uint32_t hash(uint64_t value, uint32_t mask) {
    return (uint32_t)((value ^ value >> 29) * 0xBF58476D1CE4E5B9u >> 40) & mask;
}

/* Slots of a hash table for so many values: a power of two, at least twice as many. */
uint32_t mask_for(Py_ssize_t count);

/* The place of a value's slot: an empty one if names[] has none such. */
static inline uint32_t find(const uint16_t *slots, uint32_t mask, const uint64_t *names, uint64_t value) {
    uint32_t at = hash(value, mask);
    while (slots[at] && names[slots[at] - 1] != value) at = (at + 1) & mask;
    return at;
}

bool refuse(const char *why);

#endif
