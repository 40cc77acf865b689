/* Split strands into regions, by the rules and in the order of graph/build/regions.py.
 *
 * Invariants: the rows of the changes ascend; every region except the roots has a parent with a smaller number. */
#ifndef CLEW_SCOPES_H
#define CLEW_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nesting.h"

typedef struct {
    int64_t row;
    uint32_t region;
} Change;

typedef struct {
    uint32_t strand, kind;
    int64_t opener, parent, first, last;
} Region;

typedef struct {
    uint32_t channel;
    int64_t next; /* -1 for none */
} Channel;

typedef struct {
    uint32_t region;
    int64_t end, owner; /* a call's number, -1 for none */
    int64_t channels;   /* the first in the pool, -1 for none */
    bool explicit_;
} Scope;

typedef struct {
    Change *changes;
    Region *regions;
    Scope *open;
    Channel *pool;
    size_t changed, made, depth, pooled;
    size_t change_room, region_room, open_room, pool_room;
    /* what is read */
    const uint8_t *kind;
    const void *call;
    bool wide;
    const int64_t *exit;
    int64_t *caller; /* per call, by number */
    Finder finder;
    uint8_t of_receive, of_scope, of_request, of_root;
    /* the strand */
    uint32_t strand, root, current;
    int64_t start, stop, next_end, last_opening;
    bool failed;
} Split;

void split_strand(Split *split, const uint32_t *channel, const int32_t *ext);

void split_free(Split *split);

#endif
