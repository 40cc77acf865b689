/* Plane.slice, and Plane.resume for slices that several workers compute together. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "arguments.h"
#include "memory.h"
#include "methods.h"
#include "objects.h"
#include "plane.h"
#include "slice.h"

/* (lows, highs, followed) */
static PyObject *sliced_result(const Slicing *s) {
    const Plane *plane = s->plane;
    size_t count = s->reached.count + s->whole.count;
    PyObject *lows = bytes_of(NULL, count * 4), *highs = bytes_of(NULL, count * 4);
    if (!lows || !highs) {
        Py_XDECREF(lows);
        Py_XDECREF(highs);
        return NULL;
    }
    uint32_t *low = (uint32_t *)PyBytes_AS_STRING(lows), *high = (uint32_t *)PyBytes_AS_STRING(highs);
    for (size_t i = 0; i < s->reached.count; i++) {
        uint32_t region = s->reached.items[i], bound = bound_of(s, s->state[region].reach);
        *low++ = s->forward ? bound : plane->start[region];
        *high++ = s->forward ? plane->start[region + 1] : bound + 1;
    }
    for (size_t i = 0; i < s->whole.count; i++) {
        *low++ = plane->start[s->whole.items[i].low];
        *high++ = plane->start[s->whole.items[i].high];
    }
    return Py_BuildValue("NNK", lows, highs, (unsigned long long)s->followed);
}

PyObject *plane_slice(PlaneObject *self, PyObject *args) {
    int forward;
    Py_buffer regions, positions, allowed, crosses;
    long long max_hops, max_network_hops;
    if (!PyArg_ParseTuple(args, "py*y*z*z*LL", &forward, &regions, &positions, &allowed, &crosses, &max_hops,
                          &max_network_hops))
        return NULL;
    const Plane *plane = &self->plane;
    PyObject *result = NULL;
    State *state = NULL;
    if (max_network_hops >= 0 && !crosses.buf && plane->edges) PyErr_SetString(PyExc_ValueError, "crosses: needed for a limit");
    else if (pairs_fit(plane, &regions, &positions) && mask_fits(&allowed, plane, "allowed") &&
             mask_fits(&crosses, plane, "crosses") && (state = take_state(self))) {
        size_t count = (size_t)regions.len / 4;
        bool ascend = true;
        for (size_t i = 1; i < count; i++) ascend &= ((uint32_t *)regions.buf)[i - 1] <= ((uint32_t *)regions.buf)[i];
        Slicing s = {.plane = plane,
                     .forward = forward,
                     .allowed = allowed.buf,
                     .crosses = crosses.buf,
                     .state = state,
                     .by_trees = ascend && forward && !allowed.buf && max_hops < 0 && max_network_hops < 0,
                     .starts = regions.buf,
                     .start_count = count};
        Py_BEGIN_ALLOW_THREADS
        if (max_hops >= 0 && max_network_hops >= 0)
            slice_limited(&s, regions.buf, positions.buf, count, max_hops,
                          (uint32_t)(max_network_hops < max_hops ? max_network_hops : max_hops));
        else {
            for (size_t i = 0; i < count; i++) reach_position(&s, ((uint32_t *)regions.buf)[i], ((uint32_t *)positions.buf)[i]);
            slice_run(&s, max_hops, max_network_hops);
        }
        Py_END_ALLOW_THREADS
        if (s.reached.failed || s.ranges.failed || s.whole.failed || s.sides.failed) PyErr_NoMemory();
        else result = sliced_result(&s);
        /* A region that was not noted for want of memory keeps a reach, so such scratch is not used again. */
        if (s.reached.failed || s.whole.failed) free(state);
        else {
            for (size_t i = 0; i < s.reached.count; i++) state[s.reached.items[i]].reach = 0;
            for (size_t i = 0; i < s.whole.count; i++) state[s.whole.items[i].low].reach = 0;
            give_state(self, state);
        }
        free(s.reached.items);
        free(s.ranges.items);
        free(s.whole.items);
        free(s.sides.items);
    }
    PyBuffer_Release(&regions);
    PyBuffer_Release(&positions);
    if (allowed.obj) PyBuffer_Release(&allowed);
    if (crosses.obj) PyBuffer_Release(&crosses);
    return result;
}

/* Continues a slice whose bounds the caller holds: reaches new starts, and follows edges for some rounds. */
PyObject *plane_resume(PlaneObject *self, PyObject *args) {
    int forward;
    Py_buffer state, pending, regions, positions, allowed;
    long long rounds;
    if (!PyArg_ParseTuple(args, "pw*y*y*y*z*L", &forward, &state, &pending, &regions, &positions, &allowed, &rounds))
        return NULL;
    const Plane *plane = &self->plane;
    PyObject *result = NULL;
    if (has(&state, plane->regions, sizeof(State), "state") && has(&pending, (size_t)pending.len / 8, 8, "pending") &&
        pairs_fit(plane, &regions, &positions) && mask_fits(&allowed, plane, "allowed")) {
        Moves moves = {0};
        Slicing s = {.plane = plane, .forward = forward, .allowed = allowed.buf, .state = state.buf, .moves = &moves};
        const Range *left = pending.buf;
        bool fits = true;
        Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; i < (size_t)pending.len / 8; i++) {
            fits &= left[i].low <= left[i].high && left[i].high <= plane->edges;
            if (fits) Ranges_push(&s.ranges, left[i]);
        }
        for (size_t i = 0; fits && i < (size_t)regions.len / 4; i++)
            reach_position(&s, ((uint32_t *)regions.buf)[i], ((uint32_t *)positions.buf)[i]);
        if (fits) slice_run(&s, rounds, -1);
        Py_END_ALLOW_THREADS
        if (!fits) PyErr_SetString(PyExc_ValueError, "pending: not of this plane");
        else if (s.ranges.failed || moves.failed || s.reached.failed) PyErr_NoMemory();
        else
            result = Py_BuildValue("NNK", bytes_of(moves.items, moves.count * sizeof(Move)),
                                   bytes_of(s.ranges.items, s.ranges.count * sizeof(Range)), (unsigned long long)s.followed);
        free(moves.items);
        free(s.reached.items);
        free(s.ranges.items);
    }
    PyBuffer_Release(&state);
    PyBuffer_Release(&pending);
    PyBuffer_Release(&regions);
    PyBuffer_Release(&positions);
    if (allowed.obj) PyBuffer_Release(&allowed);
    return result;
}
