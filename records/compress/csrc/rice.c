#include "rice.h"

#include <stdint.h>
#include <string.h>

enum {
    FRACTION = 4,
    LONGEST_RUN = 16,
    WIDE = 11,
    POINT = 8,
    LONGEST_FOLD = 255,
};

static void contexts_clear(Work *work, Py_ssize_t count, Py_ssize_t words) {
    work->pair_mask = mask_for(count);
    work->pairs = 0;
    memset(work->slots, 0, (work->pair_mask + 1) * sizeof *work->slots);
    memset(work->of_word, 0, words * sizeof *work->of_word);
    work->anything = (Context){100 << POINT, 16 << POINT, 0};
}

/* The context of a record's step, and how many wider ones learn from it as well. */
static inline Context *context_of(Work *work, Py_ssize_t number, int *wider) {
    uint16_t word = work->which[number];
    uint64_t pair = (uint64_t)work->which[number - 1] << 16 | word;
    uint32_t at = find(work->slots, work->pair_mask, work->pair_names, pair);
    *wider = 0;
    if (__builtin_expect(work->slots[at] != 0, 1)) return &work->of_pair[work->slots[at] - 1];
    Context *word_context = &work->of_word[word], *found = &work->of_pair[work->pairs];
    work->pair_names[work->pairs++] = pair;
    work->slots[at] = (uint16_t)work->pairs;
    *wider = word_context->seen ? 1 : 2;
    if (*wider == 2) *word_context = (Context){work->anything.usual, work->anything.spread, 0};
    *found = (Context){word_context->usual, word_context->spread, 0};
    return found;
}

static inline void learn(Context *context, int32_t octaves, int32_t fold) {
    context->usual += ((octaves << POINT) - context->usual) >> context->seen;
    context->spread += (((fold < LONGEST_FOLD ? fold : LONGEST_FOLD) << POINT) - context->spread) >> 2;
    context->seen += context->seen < 2;
}

static inline void learn_wider(Work *work, Py_ssize_t number, int wider, int32_t octaves, int32_t fold) {
    if (__builtin_expect(!wider, 1)) return;
    learn(&work->of_word[work->which[number]], octaves, fold);
    if (wider == 2) learn(&work->anything, octaves, fold);
}

static inline int32_t middle(const Context *context) { return (context->usual + (1 << (POINT - 1))) >> POINT; }

static inline int width(const Context *context) { return bit_length((uint64_t)(context->spread >> (POINT + 1))); }

typedef struct {
    uint8_t *to;
    uint64_t bits;
    int filled; /* fewer than 8 before and after each */
} Writer;

/* At most 56 bits. */
static inline void put(Writer *writer, uint64_t value, int bits) {
    writer->bits |= value << writer->filled;
    writer->filled += bits;
    store(writer->to, writer->bits, 8);
    writer->to += writer->filled >> 3;
    writer->bits >>= writer->filled & ~7;
    writer->filled &= 7;
}

static inline uint64_t low_bits(uint64_t value, int bits) { return value & (((uint64_t)1 << bits) - 1); }

Py_ssize_t rice_encode(Work *work, Py_ssize_t count, Py_ssize_t words) {
    Writer writer = {work->coded, 0, 0};
    contexts_clear(work, count, words);
    for (Py_ssize_t number = 1; number < count; number++) {
        uint64_t step = work->steps[number];
        int wider;
        Context *context = context_of(work, number, &wider);
        int lower = bit_length(step) - 1 - FRACTION, bits = width(context);
        if (lower < 0) lower = 0;
        int32_t octaves = (lower << FRACTION) + (int32_t)(step >> lower);
        int32_t difference = octaves - middle(context);
        int32_t fold = difference >= 0 ? 2 * difference : -2 * difference - 1, zeros = fold >> bits;
        if (zeros < LONGEST_RUN) put(&writer, (1 | low_bits((uint64_t)fold, bits) << 1) << zeros, zeros + 1 + bits);
        else put(&writer, (uint64_t)fold << LONGEST_RUN, LONGEST_RUN + WIDE);
        if (lower > 32) {
            put(&writer, low_bits(step, 32), 32);
            put(&writer, low_bits(step >> 32, lower - 32), lower - 32);
        } else if (lower) {
            put(&writer, low_bits(step, lower), lower);
        }
        learn(context, octaves, fold);
        learn_wider(work, number, wider, octaves, fold);
    }
    return writer.to - work->coded + (writer.filled > 0);
}

/* The bits from a place on; up to 56 are valid. */
static inline uint64_t bits_at(const uint8_t *coded, Py_ssize_t at) { return load(coded + (at >> 3), 8) >> (at & 7); }

bool rice_decode(Work *work, Stream stream, Py_ssize_t count, Py_ssize_t words) {
    if (stream.length > (Py_ssize_t)(sizeof work->coded - BEHIND)) return refuse("another number of steps");
    memcpy(work->coded, stream.at, stream.length);
    memset(work->coded + stream.length, 0, BEHIND);
    contexts_clear(work, count, words);
    work->steps[0] = 0;
    Py_ssize_t at = 0, end = 8 * stream.length;
    for (Py_ssize_t number = 1; number < count; number++) {
        int wider;
        Context *context = context_of(work, number, &wider);
        uint64_t bits = bits_at(work->coded, at);
        int told = width(context), zeros = low_bits(bits, LONGEST_RUN) ? __builtin_ctzll(bits) : LONGEST_RUN;
        int32_t fold;
        if (zeros < LONGEST_RUN) {
            fold = zeros << told | (int32_t)low_bits(bits >> (zeros + 1), told);
            at += zeros + 1 + told;
        } else {
            fold = (int32_t)low_bits(bits >> LONGEST_RUN, WIDE);
            at += LONGEST_RUN + WIDE;
        }
        int32_t octaves = middle(context) + (fold & 1 ? -((fold + 1) >> 1) : fold >> 1);
        int lower = (octaves >> FRACTION) - 1;
        if (lower < 0) lower = 0;
        if (octaves < 0 || lower + 1 + FRACTION > 64) return refuse("a step of more than 64 bits, or of less than none");
        uint64_t step = (uint64_t)(octaves - (lower << FRACTION)) << lower;
        if (lower > 32) {
            step |= low_bits(bits_at(work->coded, at), 32);
            step |= low_bits(bits_at(work->coded, at + 32), lower - 32) << 32;
        } else {
            step |= low_bits(bits_at(work->coded, at), lower);
        }
        at += lower;
        if (at > end) return refuse("another number of steps");
        work->steps[number] = step;
        learn(context, octaves, fold);
        learn_wider(work, number, wider, octaves, fold);
    }
    if ((at + 7) / 8 != stream.length) return refuse("another number of steps");
    return true;
}
