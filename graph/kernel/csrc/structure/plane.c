#include "plane.h"

#include <stddef.h>

static bool ascends(const uint32_t *values, uint32_t count, uint32_t last) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] > values[i + 1]) return false;
    return values[0] == 0 && values[count] == last;
}

/* Are all indices of the edges within their arrays? Checksums verify the rest. */
static const char *check_out(const Plane *plane) {
    for (uint32_t region = 0; region < plane->regions; region++) {
        uint32_t before = plane->start[region], high = plane->start[region + 1];
        for (uint32_t place = plane->out_first[region]; place < plane->out_first[region + 1]; place++) {
            if (place + 8 < plane->edges && plane->out[place + 8].far_region < plane->regions) {
                __builtin_prefetch(&plane->start[plane->out[place + 8].far_region]);
                __builtin_prefetch(&plane->out_first[plane->out[place + 8].far_region]);
            }
            Out out = plane->out[place];
            uint32_t near = plane->out_near[place];
            if (near < before || near >= high) return "out_near";
            before = near;
            if (out.far_region >= plane->regions || out.far < plane->start[out.far_region] ||
                out.far >= plane->start[out.far_region + 1] || out.next < plane->out_first[out.far_region] ||
                out.next > plane->out_first[out.far_region + 1])
                return "out";
            if (plane->out_edge[place] >= plane->edges) return "out_edge";
            if (bit(plane->tree, place) && (bit(plane->follow, place) || out.far != plane->start[out.far_region] ||
                                            out.far_region <= region || out.far_region >= plane->end[region]))
                return "tree";
        }
    }
    return NULL;
}

static const char *check_into(const Plane *plane) {
    for (uint32_t at = 0; at < plane->edges; at++) {
        Into into = plane->into[at];
        if (at + 8 < plane->edges && plane->into[at + 8].place < plane->edges)
            __builtin_prefetch(&plane->out_near[plane->into[at + 8].place]);
        if (into.place >= plane->edges || into.far_region >= plane->regions || into.far != plane->out_near[into.place] ||
            into.far < plane->start[into.far_region] || into.far >= plane->start[into.far_region + 1])
            return "into";
    }
    return NULL;
}

static const char *check_runs(const Plane *plane) {
    uint32_t runs = plane->runs, events = (uint32_t)plane->events;
    if (!plane->whole) {
        if (runs && plane->run_pos[0]) return "run_pos";
        for (uint32_t run = 0; run < runs; run++)
            if (run_end(plane, run) <= run_begin(plane, run) || run_begin(plane, run) >= events) return "run_pos";
    }
    uint64_t row = 0;
    for (uint32_t i = 0; i < runs; i++) {
        uint32_t run = plane->by_row[i];
        if (i + 8 < runs && plane->by_row[i + 8] < runs) {
            __builtin_prefetch(&plane->run_row[plane->by_row[i + 8]]);
            if (plane->whole) __builtin_prefetch(&plane->start[plane->by_row[i + 8]]);
        }
        if (run >= runs) return "by_row";
        if (plane->run_row[run] != row) return "run_row";
        row += run_end(plane, run) - run_begin(plane, run);
    }
    return row == plane->events ? NULL : "run_row";
}

const char *plane_check(const Plane *plane) {
    uint32_t regions = plane->regions, runs = plane->runs, events = (uint32_t)plane->events;
    if (!ascends(plane->start, regions, events)) return "start";
    if (!ascends(plane->out_first, regions, plane->edges)) return "out_first";
    if (!ascends(plane->in_first, regions, plane->edges)) return "in_first";
    if ((events > 0) != (regions > 0) || (runs > 0) != (regions > 0) || runs < regions) return "run_row";
    for (uint32_t region = 0; region < regions; region++) {
        if (plane->start[region] == plane->start[region + 1]) return "start";
        if (plane->end[region] <= region || plane->end[region] > regions) return "end";
    }
    /* In the order of the files, so that some are checked while others are being read. */
    const char *bad = check_out(plane);
    if (!bad) bad = check_into(plane);
    return bad ? bad : check_runs(plane);
}
