/* What an exception says, without calling it: its type's name, and a message made of its arguments.
 *
 * Invariant: only exact builtin values are formatted; any other is named by its type. */
#ifndef CLEW_FACTS_EXCEPTION_TEXT_H
#define CLEW_FACTS_EXCEPTION_TEXT_H

#include "core.h"

/* `module.QualName`, of a builtin `QualName`. A new reference, or NULL without an error. */
PyObject *type_name(PyTypeObject *type);

/* The message, of about 1,000 characters at most. A new reference, or NULL without an error. */
PyObject *exception_message(PyObject *error);

#endif
