/* Steps of time as frames of version 2 have them: the twin of records/step_classes.py. */

#ifndef CLEW_STEP_CLASSES_H
#define CLEW_STEP_CLASSES_H

#include "scratch.h"

enum { ONE_BYTE = 192, LEAST_BITS = 8 };

/* Where every word's records begin when they are sorted by it, and their order. */
static void sort(Work *work, Py_ssize_t count, Py_ssize_t words) {
    memset(work->starts, 0, (words + 1) * sizeof *work->starts);
    for (Py_ssize_t number = 0; number < count; number++) work->starts[work->which[number] + 1]++;
    for (Py_ssize_t word = 0; word < words; word++) work->starts[word + 1] += work->starts[word];
    for (Py_ssize_t number = 0; number < count; number++) work->order[work->starts[work->which[number]]++] = (uint16_t)number;
}

/* Fills in the steps. */
static bool steps_of_classes(Work *work, Stream symbols, Stream tails, Py_ssize_t count, Py_ssize_t words) {
    if (symbols.length != count) return refuse("another number of times");
    Py_ssize_t large = 0;
    for (Py_ssize_t number = 0; number < count; number++) {
        int bits = symbols.at[number] + LEAST_BITS - ONE_BYTE;
        if (symbols.at[number] < ONE_BYTE) continue;
        if (bits > 64) return refuse("a step of more than 64 bits");
        work->bits[large] = (uint8_t)bits;
        work->values[large++] = (uint64_t)1 << (bits - 1);
    }
    Py_ssize_t at = 0;
    for (int place = 0; place < 8 && large; place++) {
        for (Py_ssize_t number = 0; number < large; number++) {
            if (work->bits[number] - 1 <= 8 * place) continue;
            if (at == tails.length) return refuse("another number of large steps");
            work->values[number] |= (uint64_t)tails.at[at++] << 8 * place;
        }
    }
    if (at != tails.length) return refuse("another number of large steps");
    sort(work, count, words);
    large = 0;
    for (Py_ssize_t number = 0; number < count; number++)
        work->steps[work->order[number]] = symbols.at[number] < ONE_BYTE ? symbols.at[number] : work->values[large++];
    return true;
}

#endif
