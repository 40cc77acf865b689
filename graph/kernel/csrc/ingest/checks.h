/* Check the contents of the arrays that Python functions receive, so that no value leads outside an array.
 *
 * Invariant: each check that fails has always set an exception. */
#ifndef CLEW_CHECKS_H
#define CLEW_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

/* Are all of `count` numbers -1 or below `end`? */
bool rows_fit(const void *rows, bool wide, int64_t count, int64_t end);

/* Are calls sorted by the rows that opened them, and these and those of their ends there? */
bool calls_fit(const int64_t *enter, const int64_t *exit, int64_t calls, int64_t events);

#endif
