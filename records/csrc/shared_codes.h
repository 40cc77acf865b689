/* Which words' steps are coded alike: the twin of records/shared_codes.py, which says why. */

#ifndef CLEW_SHARED_CODES_H
#define CLEW_SHARED_CODES_H

#include <stdlib.h>

#include "scratch.h"

enum { PIECE = 96, CODE = 150 * 16, LONGEST = 255 };

static uint32_t weights[UNITS + 1]; /* 16 * number * log2(number), nearly */

static void weights_make(void) {
    for (uint64_t number = 2; number <= UNITS; number++) {
        int bits = bit_length(number) - 1;
        uint64_t above = number - ((uint64_t)1 << bits), below = ((uint64_t)2 << bits) - number;
        weights[number] = (uint32_t)(16 * number * bits + (16 * number * above >> bits) + (11 * number * above * below >> (2 * bits + 1)));
    }
}

static int compare(const void *one, const void *other) {
    uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return (left > right) - (left < right);
}

/* Numbers the words anew. */
static void by_step(Work *work, Py_ssize_t count, Py_ssize_t words) {
    uint64_t *sums = work->values, *table = work->news;
    uint32_t *counts = work->starts;
    uint16_t *places = work->seen;
    memset(sums, 0, words * sizeof *sums);
    memset(counts, 0, words * sizeof *counts);
    for (Py_ssize_t number = 0; number < count; number++) {
        sums[work->which[number]] += work->steps[number] < LONGEST ? work->steps[number] : LONGEST;
        counts[work->which[number]]++;
    }
    for (Py_ssize_t word = 0; word < words; word++) sums[word] = 256 * sums[word] / counts[word] << 16 | (uint64_t)word;
    qsort(sums, words, sizeof *sums, compare);
    for (Py_ssize_t place = 0; place < words; place++) {
        uint16_t word = (uint16_t)sums[place];
        places[word] = (uint16_t)place;
        table[place] = work->table[word];
    }
    memcpy(work->table, table, words * sizeof *table);
    for (Py_ssize_t number = 0; number < count; number++) work->which[number] = places[work->which[number]];
}

static int64_t bits_of(const uint16_t *counts) {
    uint32_t total = 0, within = 0;
    for (int symbol = 0; symbol < 256; symbol++) {
        total += counts[symbol];
        within += weights[counts[symbol]];
    }
    int64_t bits = (int64_t)weights[total] - within;
    return bits > 16 * (int64_t)total ? bits : 16 * (int64_t)total;
}

/* Where another code begins; false with an exception set. */
static bool add_cuts(const Work *work, Py_ssize_t words, PyObject *cuts) {
    uint16_t group[256] = {0}, piece[256], together[256];
    int64_t group_bits = -1;
    uint32_t start = 0;
    for (Py_ssize_t word = 0; word < words; word++) {
        uint32_t at = work->starts[word + 1];
        if (at - start < PIECE && word < words - 1) continue;
        memset(piece, 0, sizeof piece);
        for (uint32_t number = start; number < at; number++) piece[work->symbols[number]]++;
        for (int symbol = 0; symbol < 256; symbol++) together[symbol] = group[symbol] + piece[symbol];
        int64_t piece_bits = bits_of(piece), bits = bits_of(together);
        bool own = group_bits >= 0 && bits - group_bits - piece_bits > CODE;
        if (own) {
            PyObject *cut = PyLong_FromUnsignedLong(start);
            bool added = cut && PyList_Append(cuts, cut) == 0;
            Py_XDECREF(cut);
            if (!added) return false;
        }
        memcpy(group, own ? piece : together, sizeof group);
        group_bits = own ? piece_bits : bits;
        start = at;
    }
    return true;
}

#endif
