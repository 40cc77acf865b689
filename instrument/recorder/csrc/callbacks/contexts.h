/* Copies of contexts: record the creator of a copy, for code that runs in the copy elsewhere.
 *
 * Only copies that `contextvars.copy_context` returned to the program are known. asyncio's own copies are not,
 * because its handles contain more information. Invariant: a context is forgotten when it is freed, so that another
 * context may get its address. */
#ifndef CLEW_CALLBACKS_CONTEXTS_H
#define CLEW_CALLBACKS_CONTEXTS_H

#include "core.h"

/* Gives the function that copies unseen. */
PyObject *core_watch_contexts(PyObject *module, PyObject *arguments);

#endif
