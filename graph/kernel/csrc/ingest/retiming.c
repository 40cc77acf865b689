#include "retiming.h"

#include <math.h>

void retime_all(const Retiming *r, int64_t joins, double *saved) {
    for (int64_t join = 0; join < joins; join++) saved[join] = NAN;
    for (int64_t at = 0; at < joins; at++) {
        int64_t join = r->order[at], came = INT64_MIN;
        double comes = -INFINITY, gap = 0.0;
        for (int64_t cause = r->first[join]; cause < r->first[join + 1]; cause++) {
            double before = r->other[cause] < 0 ? 0.0 : saved[r->other[cause]];
            if (isnan(before)) continue;
            double sooner = (double)r->time[cause] - before - r->rate * r->done[cause];
            if (sooner > comes) comes = sooner;
            /* A join right after its strand's own work comes sooner by what that work saves, too. */
            if (r->time[cause] > came) came = r->time[cause], gap = r->gap[cause];
            else if (r->time[cause] == came && r->gap[cause] > gap) gap = r->gap[cause];
        }
        saved[join] = came == INT64_MIN ? 0.0 : (double)came - comes + r->rate * gap;
    }
}
