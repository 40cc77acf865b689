/* queue.SimpleQueue, a C type: each item in the queue carries its key. (Since 3.13, a put may hand its item to a
 * waiting thread, which can return later than a thread that takes the next item. So numbering puts and gets would be
 * wrong.)
 *
 * Invariants: a key travels only through queues created after clew replaced the gets, because in an older queue an
 * original get may be waiting or bound to a name. Arguments are passed on unchanged, and waiting is left to the
 * type. Up to 3.12, a get with a timeout may be woken and then find the item gone and its time over; it then waits
 * for a negative time, which is forever. This also happens without clew. */
#ifndef CLEW_QUEUES_SIMPLE_QUEUES_H
#define CLEW_QUEUES_SIMPLE_QUEUES_H

#include "core.h"

SHARED PyTypeObject envelope_type;

/* watch_simple_queues(type, Empty, channel, put_site, get_site) */
PyObject *core_watch_simple_queues(PyObject *module, PyObject *arguments);

/* ignore_simple_queue(queue): its items have edges of their own. */
PyObject *core_ignore_simple_queue(PyObject *module, PyObject *queue);

#endif
