/* The items that a queue handed out and may get back: those of a pool. A pool's user is no cause of what the next user does.
 *
 * Invariant: an item counts as returned only if it is the same object, not one at the address of an object that is gone. So
 * objects that can be referenced weakly are, small immutable ones are kept alive, and all others are never recognized. */
#ifndef CLEW_QUEUES_RETURNED_ITEMS_H
#define CLEW_QUEUES_RETURNED_ITEMS_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#define MOST_HANDED 32u

struct handed {
    PyObject *item;      /* Borrowed; only compared */
    PyObject *reference; /* Owned: a weak reference, or the item itself */
    uint64_t taker;      /* the strand that took it */
};

struct handed_items {
    struct handed *place; /* Owned: a ring of `MOST_HANDED`, or NULL */
    uint32_t next;
};

void handed_out(struct handed_items *items, PyObject *item);

/* Was the item handed out before, to the calling strand if it is immutable? It no longer counts as handed out. */
bool handed_back(struct handed_items *items, PyObject *item);

int handed_traverse(const struct handed_items *items, visitproc visit, void *arg);

void handed_clear(struct handed_items *items);

#endif
