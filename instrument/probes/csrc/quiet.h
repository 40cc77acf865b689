/* `Quiet`: a clew function that returns a fallback value if it exhausts the stack or memory, which belong to the
 * program. */
#ifndef CLEW_QUIET_H
#define CLEW_QUIET_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject QuietType;

#endif
