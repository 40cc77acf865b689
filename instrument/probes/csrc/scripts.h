/* Scripts that a tool runs (a debugger, a profiler, coverage) go through `exec`, which offers their code to a clew
 * function. Invariant: code run by the import system is never offered again, and exec rejects the same arguments as
 * without clew. */
#ifndef CLEW_SCRIPTS_H
#define CLEW_SCRIPTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *watch_exec(PyObject *module, PyObject *function);

#endif
