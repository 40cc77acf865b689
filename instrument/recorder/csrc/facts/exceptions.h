/* EXCEPTION facts: which exceptions there were, where they were raised, and what they followed from.
 *
 * An exception object has one key for as long as it lives. The key's number is kept in the object itself, in the bytes after
 * its last field that the compiler leaves unused: they are zero in a new object, and no Python code can see them. Objects
 * without such bytes (a MemoryError, whose memory is used again as it is; types of C extensions with fields of their own) get
 * a key by their address, type, arguments and innermost traceback, as long as nothing else was recorded like it meanwhile.
 *
 * Invariants: no code of the program runs; a message is made of builtin values only, and is redacted. No function here leaves
 * an exception set, or changes one that is set. */
#ifndef CLEW_FACTS_EXCEPTIONS_H
#define CLEW_FACTS_EXCEPTIONS_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

/* Records `error` in a role (see `clew.records.format.facts`), once in each; as "handled" each time, because that describes
 * the next record, but only the first time with its message. Its causes and group members are recorded before it. Returns its key, or 0 if it is not recorded: nothing
 * is recorded now, the adapter is not installed, `error` is no exception, or there were too many like it. */
uint64_t exception_record(PyObject *error, const char *role);

/* Records the exception that the calling thread handles now, if any, as "handled". */
void exception_handled(void);

PyObject *core_watch_exceptions(PyObject *module, PyObject *arguments);
PyObject *core_exception_record(PyObject *module, PyObject *arguments);
PyObject *core_exceptions_over(PyObject *module, PyObject *ignored);

#endif
