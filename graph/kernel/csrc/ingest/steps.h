/* Assign each record of a thread to its strand, see graph/build/split_strands.py.
 *
 * A growing open hash table finds strands by their keys. Untrusted keys can only cost time, through equal hashes.
 * Invariant: the stack is never empty, its bottom is the thread's own strand, and each entry has a key. */
#ifndef CLEW_STEPS_H
#define CLEW_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t *keys; /* Owned; of the strands from number `first` on */
    size_t count, room;
    uint32_t first;
} Keys;

typedef struct {
    uint32_t *slots; /* Owned; a strand's number and one, 0 for an empty slot */
    size_t mask, used;
} Known;

typedef struct {
    Keys strands;
    Known known;
    uint32_t *stack; /* Owned */
    size_t depth, room;
    uint32_t since;
    int64_t unmatched;
    bool dropped, failed;
} Stepper;

void stepper_free(Stepper *stepper);

/* Forgets every strand before `since`. */
void remember_since(Stepper *stepper, size_t size);

void step_all(Stepper *stepper, const uint8_t *kind, const uint32_t *site, const int32_t *ext, const uint64_t *key,
              int64_t records, uint32_t *strand);

#endif
