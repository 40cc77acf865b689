/* clew.graph.kernel._timeline: bars of calls, coarser bars, and tiles of bars; see graph/kernel/_timeline.pyi.
 *
 * Invariant: arrays from Python are always as large as the data written to them and read from them, or an exception
 * is set. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "bars.h"
#include "bounds.h"
#include "tiles.h"

typedef struct {
    const uint8_t *kind;
    const uint32_t *site;
    const int64_t *start, *ts;
    int64_t events, strands;
    size_t sites;
} Records;

/* The first four arrays of a call; false and an exception when they do not fit. */
static bool read_records(Arguments *in, Records *of) {
    of->kind = read_array(in, 0, 1, 0, "kind");
    of->events = items(in, 0, 1);
    of->site = read_array(in, 1, 4, of->events, "site");
    of->ts = read_array(in, 2, 8, of->events, "ts");
    of->start = read_array(in, 3, 8, 1, "strand_start");
    of->strands = items(in, 3, 8) - 1;
    if (in->failed) return false;
    of->sites = 1;
    for (int64_t row = 0; row < of->events; row++)
        if (of->site[row] >= of->sites) of->sites = (size_t)of->site[row] + 1;
    if (of->sites > ASLEEP) {
        PyErr_SetString(PyExc_ValueError, "a site that is not there");
        return false;
    }
    return bounds_fit(of->start, of->strands, of->events);
}

static bool walk_make(BarWalk *walk, size_t sites) {
    memset(walk, 0, sizeof *walk);
    return (walk->running = calloc(sites, sizeof *walk->running));
}

static void walk_free(BarWalk *walk) {
    free(walk->running);
    free(walk->stack.items);
    free(walk->counts.items);
}

static PyObject *count(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 5);
    PyObject *result = NULL;
    Records of;
    BarWalk *walk = malloc(sizeof *walk);
    if (!walk) return PyErr_NoMemory();
    walk->running = NULL, walk->stack.items = NULL, walk->counts.items = NULL;
    if (!read_records(&in, &of)) goto done;
    uint32_t *depths = write_array(&in, 4, 4, of.strands, "depths");
    if (!depths) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS;
    ok = walk_make(walk, of.sites);
    for (int64_t strand = 0; ok && strand < of.strands; strand++) {
        walk->base = (int64_t)walk->counts.count;
        walk->depths = 0;
        bar_strand(walk, of.kind, of.site, of.ts, of.start[strand], of.start[strand + 1], NULL);
        ok = !walk->stack.failed && !walk->counts.failed;
        depths[strand] = (uint32_t)walk->depths;
    }
    Py_END_ALLOW_THREADS;
    if (ok) result = bytes_of(walk->counts.items ? walk->counts.items : (int64_t *)"", walk->counts.count * sizeof(int64_t));
    else PyErr_NoMemory();
done:
    walk_free(walk);
    free(walk);
    release_arguments(&in);
    return result;
}

static PyObject *fill(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 8);
    PyObject *result = NULL;
    Records of;
    int64_t *next = NULL;
    BarWalk *walk = malloc(sizeof *walk);
    if (!walk) return PyErr_NoMemory();
    walk->running = NULL, walk->stack.items = NULL, walk->counts.items = NULL;
    if (!read_records(&in, &of)) goto done;
    const uint32_t *depths = read_array(&in, 4, 4, of.strands, "depths");
    if (!depths) goto done;
    const int64_t *row_start = read_array(&in, 5, 8, 1, "row_start");
    if (!row_start) goto done;
    int64_t rows = items(&in, 5, 8) - 1, wanted = 0;
    Bar *bars = write_array(&in, 6, sizeof(int64_t), row_start[rows] * 3, "bars");
    if (!bars) goto done;
    uint16_t *depth = write_array(&in, 7, 2, of.events, "depth");
    if (!depth) goto done;
    for (int64_t strand = 0; strand < of.strands; strand++) wanted += depths[strand];
    if (wanted != rows || !bounds_fit(row_start, rows, row_start[rows])) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "rows that are not those of the strands");
        goto done;
    }
    bool ok, same = true;
    Py_BEGIN_ALLOW_THREADS;
    next = malloc((size_t)(rows + 1) * sizeof *next);
    ok = next && walk_make(walk, of.sites);
    if (ok) memcpy(next, row_start, (size_t)(rows + 1) * sizeof *next);
    walk->bars = bars;
    for (int64_t strand = 0, base = 0; ok && same && strand < of.strands; base += depths[strand++]) {
        walk->next = next + base;
        bar_strand(walk, of.kind, of.site, of.ts, of.start[strand], of.start[strand + 1], depth);
        ok = !walk->stack.failed;
        for (int64_t row = base; row < base + depths[strand]; row++) same &= next[row] == row_start[row + 1];
    }
    Py_END_ALLOW_THREADS;
    if (ok && same) result = Py_NewRef(Py_None);
    else if (ok) PyErr_SetString(PyExc_ValueError, "rows of other lengths than were counted");
    else PyErr_NoMemory();
done:
    free(next);
    walk_free(walk);
    free(walk);
    release_arguments(&in);
    return result;
}

static PyObject *coarser(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 6);
    int64_t shift = read_number(&in, 2, INT_MIN, INT_MAX), sites = read_number(&in, 3, INT64_MIN, INT64_MAX);
    PyObject *result = NULL;
    const Bar *bars = read_array(&in, 0, sizeof(int64_t), 0, "bars");
    int64_t count = items(&in, 0, sizeof(Bar));
    const int64_t *row_start = read_array(&in, 1, 8, 1, "row_start");
    int64_t rows = items(&in, 1, 8) - 1, made;
    Bar *to = write_array(&in, 4, sizeof(int64_t), count * 3, "to");
    int64_t *to_start = write_array(&in, 5, 8, rows + 1, "to_start");
    if (in.failed || !bounds_fit(row_start, rows, count)) goto done;
    if (shift < 0 || shift > 62 || sites < 0 || sites > ASLEEP) {
        PyErr_SetString(PyExc_ValueError, "a width or a number of sites that cannot be");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    made = coarsen(bars, row_start, rows, (int)shift, (size_t)sites, to, to_start);
    Py_END_ALLOW_THREADS
    if (made >= 0) result = PyLong_FromLongLong(made);
    else PyErr_SetString(PyExc_ValueError, "bars that are damaged, or no memory");
done:
    release_arguments(&in);
    return result;
}

static PyObject *paint(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 10);
    bool exact = read_flag(&in, 2);
    int64_t sites = read_number(&in, 3, INT64_MIN, INT64_MAX), from = read_number(&in, 5, INT64_MIN, INT64_MAX);
    int64_t shift = read_number(&in, 6, INT_MIN, INT_MAX), least = read_number(&in, 7, INT64_MIN, INT64_MAX);
    PyObject *result = NULL;
    Painter to = {.exact = exact, .from = from, .shift = (int)shift, .least = least, .sites = (size_t)sites};
    to.bars = read_array(&in, 0, sizeof(int64_t), 0, "bars");
    int64_t bars = items(&in, 0, sizeof(Bar));
    const int64_t *row_start = read_array(&in, 1, 8, 1, "row_start");
    int64_t rows = items(&in, 1, 8) - 1;
    const int64_t *wanted = read_array(&in, 4, 8, 0, "rows");
    int64_t count = items(&in, 4, 8);
    uint16_t *cells = write_array(&in, 8, 2, 0, "cells");
    int64_t all = items(&in, 8, 2);
    uint8_t *covers = write_array(&in, 9, 1, all, "covers");
    if (in.failed) goto done;
    to.buckets = count ? all / count : 0;
    if (shift < 0 || shift > 52 || sites < 0 || sites > ASLEEP || to.buckets > 1 << 20 || from > (1LL << 60) ||
        from < -(1LL << 60) || to.buckets > (1LL << 60) >> shift) {
        PyErr_SetString(PyExc_ValueError, "a tile that cannot be");
        goto done;
    }
    for (int64_t at = 0; at < count; at++)
        if (wanted[at] >= rows ||
            (wanted[at] >= 0 && (row_start[wanted[at]] < 0 || row_start[wanted[at]] > row_start[wanted[at] + 1] ||
                                 row_start[wanted[at] + 1] > bars))) {
            PyErr_SetString(PyExc_ValueError, "a row that is not there");
            goto done;
        }
    bool failed;
    Py_BEGIN_ALLOW_THREADS;
    to.mix.ns = calloc((size_t)sites * 2 + 2, sizeof(int64_t));
    to.colour = calloc((size_t)sites + 1, sizeof *to.colour);
    failed = !to.mix.ns || !to.colour;
    memset(cells, 0, (size_t)all * 2);
    memset(covers, 0, (size_t)all);
    for (int64_t at = 0; at < count && !failed && !to.bad && to.buckets; at++) {
        if (wanted[at] < 0) continue; /* none: it stays empty */
        to.cells = cells + at * to.buckets;
        to.covers = covers + at * to.buckets;
        paint_row(&to, (uint32_t)at, row_start[wanted[at]], row_start[wanted[at] + 1]);
        failed = to.mix.touched.failed || to.palette.failed || to.named.failed;
    }
    Py_END_ALLOW_THREADS;
    if (failed) PyErr_NoMemory();
    else if (to.bad) PyErr_SetString(PyExc_ValueError, "bars that are damaged");
    else
        result = Py_BuildValue("NN", bytes_of(to.palette.items ? to.palette.items : (uint32_t *)"", to.palette.count * 4),
                               bytes_of(to.named.items ? to.named.items : (NamedBar *)"", to.named.count * sizeof(NamedBar)));
done:
    free(to.mix.ns);
    free(to.mix.touched.items);
    free(to.colour);
    free(to.palette.items);
    free(to.named.items);
    release_arguments(&in);
    return result;
}

static PyMethodDef methods[] = {
    TAKES_ARGUMENTS("count", count), TAKES_ARGUMENTS("fill", fill), TAKES_ARGUMENTS("coarser", coarser),
    TAKES_ARGUMENTS("paint", paint), {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "clew.graph.kernel._timeline", .m_methods = methods};

PyMODINIT_FUNC PyInit__timeline(void) { return PyModuleDef_Init(&definition); }
