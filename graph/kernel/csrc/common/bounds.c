#include "bounds.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

bool bounds_fit(const int64_t *start, int64_t strands, int64_t events) {
    bool fit = strands >= 0 && start[0] == 0 && start[strands] == events;
    for (int64_t at = 0; fit && at < strands; at++) fit = start[at] <= start[at + 1];
    if (!fit) PyErr_SetString(PyExc_ValueError, "strands that do not follow each other");
    return fit;
}
