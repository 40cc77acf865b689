/* Record the garbage collector's runs as separate scopes, because the code running at their start did not cause the
 * calls they make.
 *
 * Most collections call no recorded function and then leave no record. So when a collection begins, the thread's
 * buffer space is withheld: the first record that is stored nevertheless finds no space, and `claim` begins the
 * scope before it. Invariant: the path of a record stored outside collections does not change. */
#ifndef CLEW_CALLBACKS_GARBAGE_COLLECTOR_H
#define CLEW_CALLBACKS_GARBAGE_COLLECTOR_H

#include "core.h"

/* A scope without a cause. */
void collection_seen(void);

PyObject *core_collecting(PyObject *module, PyObject *ignored);

PyObject *core_watch_collector(PyObject *module, PyObject *arguments);

#endif
