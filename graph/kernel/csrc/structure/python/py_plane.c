/* Plane in Python: its arrays are read and checked once, on creation; and the lookups in these arrays. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "arguments.h"
#include "condense.h"
#include "memory.h"
#include "methods.h"
#include "objects.h"
#include "plane.h"

void plane_dealloc(PlaneObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < ARRAYS; i++)
        if (self->held[i]) PyBuffer_Release(&self->arrays[i]);
    for (int i = 0; i < POOL; i++) {
        free(self->states[i]);
        free(self->marks[i]);
    }
    type->tp_free(self);
    Py_DECREF(type);
}

/* Takes the arrays; their lengths have to fit each other. */
static bool plane_take(PlaneObject *self, PyObject *arrays) {
    for (int i = 0; i < ARRAYS; i++) {
        PyObject *array = PyMapping_GetItemString(arrays, NAMES[i]);
        if (!array) return false;
        int got = PyObject_GetBuffer(array, &self->arrays[i], PyBUF_C_CONTIGUOUS);
        Py_DECREF(array);
        if (got) return false;
        self->held[i] = true;
    }
    const Py_buffer *a = self->arrays;
    size_t regions = (size_t)a[END].len / 4, edges = (size_t)a[OUT_NEAR].len / 4, runs = (size_t)a[RUN_ROW].len / 4;
    const size_t counts[ARRAYS] = {regions + 1, regions, regions + 1,       regions + 1,       edges, edges,
                                   edges,       edges,   (edges + 63) / 64, (edges + 63) / 64, runs,  a[RUN_POS].len ? runs : 0,
                                   runs};
    for (int i = 0; i < ARRAYS; i++)
        if (!has(&a[i], counts[i], WIDTHS[i], NAMES[i])) return false;
    if (regions >= NONE || edges >= NONE || runs >= NONE) {
        PyErr_SetString(PyExc_ValueError, "more than 4,294,967,294 of something");
        return false;
    }
    const uint32_t *start = a[START].buf;
    self->plane = (Plane){
        start[regions], (uint32_t)regions, (uint32_t)edges, (uint32_t)runs, false,           !a[RUN_POS].len, start,
        a[END].buf,     a[OUT_FIRST].buf,  a[IN_FIRST].buf, a[OUT].buf,     a[OUT_NEAR].buf, a[OUT_EDGE].buf, a[INTO].buf,
        a[TREE].buf,    a[FOLLOW].buf,     a[RUN_ROW].buf,  a[RUN_POS].buf, a[BY_ROW].buf};
    if (self->plane.whole && runs != regions) {
        PyErr_SetString(PyExc_ValueError, "run_pos: it is not there, and there are more runs than regions");
        return false;
    }
    return true;
}

PyObject *plane_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *arrays;
    if (kwargs && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "Plane takes one mapping");
    if (!PyArg_ParseTuple(args, "O", &arrays)) return NULL;
    PlaneObject *self = (PlaneObject *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    const char *bad = NULL;
    if (!plane_take(self, arrays)) {
        Py_DECREF(self);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    bad = plane_check(&self->plane);
    self->plane.every = true;
    for (uint32_t place = 0; !bad && place < self->plane.edges; place += 64) {
        uint64_t all = self->plane.edges - place < 64 ? (1ull << (self->plane.edges - place)) - 1 : ~0ull;
        uint64_t known = self->plane.tree[place >> 6] | self->plane.follow[place >> 6];
        self->plane.every &= (known & all) == all;
    }
    Py_END_ALLOW_THREADS
    if (bad) {
        PyErr_Format(PyExc_ValueError, "%s: not as a graph's structure is", bad);
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

PyObject *plane_locate(PlaneObject *self, PyObject *args) {
    Py_buffer rows;
    if (!PyArg_ParseTuple(args, "y*", &rows)) return NULL;
    const Plane *plane = &self->plane;
    size_t count = (size_t)rows.len / 8;
    PyObject *regions = bytes_of(NULL, count * 4), *positions = bytes_of(NULL, count * 4), *result = NULL;
    bool good = has(&rows, count, 8, "rows");
    if (regions && positions && good) {
        uint32_t *region = (uint32_t *)PyBytes_AS_STRING(regions), *position = (uint32_t *)PyBytes_AS_STRING(positions);
        const int64_t *row = rows.buf;
        Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; i < count && good; i++) {
            good = row[i] >= 0 && (uint64_t)row[i] < plane->events;
            if (!good) break;
            position[i] = position_of(plane, (uint32_t)row[i]);
            region[i] = region_of(plane, position[i]);
        }
        Py_END_ALLOW_THREADS
        if (good) result = PyTuple_Pack(2, regions, positions);
        else PyErr_SetString(PyExc_IndexError, "rows: no such event");
    }
    Py_XDECREF(regions);
    Py_XDECREF(positions);
    PyBuffer_Release(&rows);
    return result;
}

PyObject *plane_rows_of(PlaneObject *self, PyObject *args) {
    Py_buffer regions, positions;
    if (!PyArg_ParseTuple(args, "y*y*", &regions, &positions)) return NULL;
    PyObject *result = NULL;
    if (pairs_fit(&self->plane, &regions, &positions) && (result = bytes_of(NULL, (size_t)regions.len * 2))) {
        const uint32_t *region = regions.buf, *position = positions.buf;
        int64_t *row = (int64_t *)PyBytes_AS_STRING(result);
        Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; i < (size_t)regions.len / 4; i++) row[i] = row_of(&self->plane, region[i], position[i]);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&regions);
    PyBuffer_Release(&positions);
    return result;
}

PyObject *plane_owners(PlaneObject *self, PyObject *args) {
    Py_buffer bounds;
    if (!PyArg_ParseTuple(args, "y*", &bounds)) return NULL;
    const Plane *plane = &self->plane;
    const int64_t *bound = bounds.buf;
    size_t count = (size_t)bounds.len / 8;
    PyObject *result = NULL;
    if (has(&bounds, count, 8, "bounds") && (result = bytes_of(NULL, (size_t)plane->regions * 4))) {
        uint32_t *owner = (uint32_t *)PyBytes_AS_STRING(result);
        Py_BEGIN_ALLOW_THREADS
        size_t at = 0;
        for (uint32_t i = 0; i < plane->runs; i++) {
            uint32_t run = plane->by_row[i];
            while (at + 2 < count && bound[at + 1] <= (int64_t)plane->run_row[run]) at++;
            owner[plane->whole ? run : region_of(plane, run_begin(plane, run))] = (uint32_t)at;
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&bounds);
    return result;
}

/* All rows of some positions, ascending: by a bit per row where they are many, else by sorting the stretches. */
static bool collect_rows(const Plane *plane, const uint32_t *lows, const uint32_t *highs, size_t count, int64_t *rows,
                         size_t total) {
    bool many = total > plane->events / 64;
    uint64_t *bits = many ? calloc((plane->events >> 6) + 1, 8) : NULL;
    Keys stretches = {0};
    if (many && !bits) return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t low = lows[i], high = highs[i];
        uint32_t run = last_at_most(plane->whole ? plane->start : plane->run_pos, 0, plane->runs, low);
        for (; low < high; run++) {
            uint32_t stop = run_end(plane, run) < high ? run_end(plane, run) : high;
            uint64_t row = plane->run_row[run] + (low - run_begin(plane, run)), last = row + (stop - low);
            if (!many) Keys_push(&stretches, row << 32 | (stop - low));
            else
                for (; row < last; row++) bits[row >> 6] |= 1ull << (row & 63);
            low = stop;
        }
    }
    size_t at = 0;
    if (many)
        for (uint64_t word = 0; word <= plane->events >> 6; word++)
            for (uint64_t left = bits[word]; left && at < total; left &= left - 1)
                rows[at++] = (int64_t)(word << 6) + __builtin_ctzll(left);
    else if (!stretches.failed) {
        if (stretches.count) qsort(stretches.items, stretches.count, 8, compare_u64);
        for (size_t i = 0; i < stretches.count; i++)
            for (uint32_t j = 0; j < (uint32_t)stretches.items[i]; j++) rows[at++] = (int64_t)(stretches.items[i] >> 32) + j;
    }
    /* Ranges that overlap leave places at the end. */
    while (at < total) rows[at++] = 0;
    free(bits);
    free(stretches.items);
    return !stretches.failed;
}

PyObject *plane_rows(PlaneObject *self, PyObject *args) {
    Py_buffer lows, highs;
    if (!PyArg_ParseTuple(args, "y*y*", &lows, &highs)) return NULL;
    const Plane *plane = &self->plane;
    PyObject *result = NULL;
    if (ranges_fit(plane, &lows, &highs)) {
        size_t count = (size_t)lows.len / 4, total = 0;
        for (size_t i = 0; i < count; i++) total += ((uint32_t *)highs.buf)[i] - ((uint32_t *)lows.buf)[i];
        if ((result = bytes_of(NULL, total * 8))) {
            int64_t *rows = (int64_t *)PyBytes_AS_STRING(result);
            bool done;
            Py_BEGIN_ALLOW_THREADS
            done = collect_rows(plane, lows.buf, highs.buf, count, rows, total);
            Py_END_ALLOW_THREADS
            if (!done) {
                Py_CLEAR(result);
                PyErr_NoMemory();
            }
        }
    }
    PyBuffer_Release(&lows);
    PyBuffer_Release(&highs);
    return result;
}
