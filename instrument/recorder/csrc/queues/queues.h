/* Queues in C: the put that an item returned by a get came from, and the workers that a `join` waited for.
 *
 * A queue has a ledger of its contents in its `_clew_ledger`. For FIFO and LIFO queues the ledger stores the places
 * of the items and checks their identity; for any other order it stores the addresses of the items (an item in a
 * queue is alive). Invariants: code that accesses a ledger always runs with the queue's own lock held, or on its
 * loop; items that came or left by other means get no edge. */
#ifndef CLEW_QUEUES_QUEUES_H
#define CLEW_QUEUES_QUEUES_H

#include "core.h"

SHARED PyTypeObject ledger_type;

/* join_items(queue): a new queue that only hands over what its one reader asked for, so that a get opens no scope. */
PyObject *core_join_items(PyObject *module, PyObject *queue);

/* watch_queues(fifo, lifo, heap, store, size, unfinished, channel, done_channel, (put, get, done, join sites)) */
PyObject *core_watch_queues(PyObject *module, PyObject *arguments);

#endif
