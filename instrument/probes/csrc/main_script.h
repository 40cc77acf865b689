/* The main script is not imported, so no import hook sees its code. A frame evaluation hook (PEP 523) sees the code
 * once, offers it to a clew function and removes itself. Invariant: only the constants (nested code objects) that a
 * module loads change, never its own instructions, so the frame that is about to run needs no change. */
#ifndef CLEW_MAIN_SCRIPT_H
#define CLEW_MAIN_SCRIPT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *watch_main(PyObject *module, PyObject *function);

PyObject *unwatch(PyObject *module, PyObject *ignored);

PyObject *watching(PyObject *module, PyObject *ignored);

#endif
