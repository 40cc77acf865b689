/* Functions of modules in C with calls around them that look like the originals: the same name, signature and module. A
 * builtin function only gets its module as context. So each replacement has its own C function, which knows its
 * number. */
#ifndef CLEW_STAND_IN_H
#define CLEW_STAND_IN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *stand_in(PyObject *module, PyObject *args);

#endif
