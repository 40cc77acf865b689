/* OUTPUT facts: lines that the process writes to the descriptors 1 and 2, each with the program's line that wrote it.
 *
 * We observe `write` of text files, of buffered binary files and of `os`, in the types themselves, so that `sys.stdout` and
 * `print` stay as they are. A text file keeps what it gets, so the line is recorded when the program hands it over, not when
 * its bytes leave the process. Invariants: a call gets its own result or error; no code of the program runs. */
#ifndef CLEW_FACTS_OUTPUTS_H
#define CLEW_FACTS_OUTPUTS_H

#include "core.h"

PyObject *core_watch_outputs(PyObject *module, PyObject *arguments);
PyObject *core_mute_outputs(PyObject *module, PyObject *on);
PyObject *core_outputs_over(PyObject *module, PyObject *ignored);

#endif
