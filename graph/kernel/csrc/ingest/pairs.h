/* Find each target's source: the last source with the same key before the target, see
 * graph/build/edge_matching.py.
 *
 * Events are partitioned by a hash of their keys so that a partition fits into a processor's cache. In a partition,
 * the few events of each key are sorted by time. Partitions are gathered in rounds; each round is a pass over the
 * complete columns, so that memory is bounded: by one partition, which only a single key can make larger than
 * intended, and by as many events as the caller allows or a sixteenth of all events. Untrusted keys can only cost
 * time, through equal hashes. Invariant: a source is always before its target, by time and then by sequence. */
#ifndef CLEW_PAIRS_H
#define CLEW_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

enum { PART = 4096, FINE = 2048, MOST_BITS = 15, ROUNDS = 16, FAMILIES = 3, SHORT = 24 };

/* The role of each kind of event in a family of edges; 0 everywhere without one. */
typedef struct {
    const uint8_t *family; /* by kind, from 1 on */
    const uint8_t *source; /* by kind: is it one? */
    bool handed_over[FAMILIES + 1];
    uint8_t edge[FAMILIES + 1];
} Roles;

typedef struct {
    const uint8_t *kind;
    const int32_t *ext;
    const int64_t *ts;
    const void *sequence;
    bool wide;
    const int64_t *strand_start;
    int64_t strands;
    const uint32_t *process; /* per strand */
    const uint64_t *key;
    const uint16_t *flags;
    uint16_t without; /* flags of what has edges of another sort */
} Records;

typedef struct {
    int64_t *src, *dst;
    uint8_t *kind;
    int64_t edges, room;
    int64_t missed[256]; /* targets without a source, by kind */
} Found;

typedef enum { PAIRED, NO_MEMORY, NO_ROOM } Pairing;

/* `granted` events may be held at a time. */
Pairing pair_all(const Records *of, const Roles *roles, int64_t granted, Found *found);

#endif
