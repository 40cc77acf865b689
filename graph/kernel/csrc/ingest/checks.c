#include "checks.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "nesting.h"

bool rows_fit(const void *rows, bool wide, int64_t count, int64_t end) {
    bool fit = true;
    for (int64_t at = 0; at < count; at++) {
        int64_t row = get_row(rows, wide, at);
        fit &= row >= -1 && row < end;
    }
    if (!fit) PyErr_SetString(PyExc_ValueError, "a row that is not there");
    return fit;
}

bool calls_fit(const int64_t *enter, const int64_t *exit, int64_t calls, int64_t events) {
    bool fit = true;
    for (int64_t at = 0; at < calls; at++) fit &= enter[at] >= (at ? enter[at - 1] + 1 : 0);
    if (!fit) PyErr_SetString(PyExc_ValueError, "calls that are not in order");
    return fit && rows_fit(enter, true, calls, events) && rows_fit(exit, true, calls, events);
}
