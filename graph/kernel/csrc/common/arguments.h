/* Check the contents of the arrays that Python functions receive, so that no value leads outside an array.
 *
 * Invariant: each check that fails has always set an exception. */
#ifndef CLEW_ARGUMENTS_H
#define CLEW_ARGUMENTS_H

#include "bounds.h"
#include "buffers.h"
#include "nesting.h"

/* Are all of `count` numbers -1 or below `end`? */
static bool rows_fit(const void *rows, bool wide, int64_t count, int64_t end) {
    bool fit = true;
    for (int64_t at = 0; at < count; at++) {
        int64_t row = get_row(rows, wide, at);
        fit &= row >= -1 && row < end;
    }
    if (!fit) PyErr_SetString(PyExc_ValueError, "a row that is not there");
    return fit;
}

/* Are calls sorted by the rows that opened them, and these and those of their ends there? */
static bool calls_fit(const int64_t *enter, const int64_t *exit, int64_t calls, int64_t events) {
    bool fit = true;
    for (int64_t at = 0; at < calls; at++) fit &= enter[at] >= (at ? enter[at - 1] + 1 : 0);
    if (!fit) PyErr_SetString(PyExc_ValueError, "calls that are not in order");
    return fit && rows_fit(enter, true, calls, events) && rows_fit(exit, true, calls, events);
}

#endif
