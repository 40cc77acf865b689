/* clew.graph.kernel._timeline: bars of calls, coarser bars, and tiles of bars; see graph/kernel/_timeline.pyi.
 *
 * Invariant: arrays from Python are always as large as the data written to them and read from them, or an exception
 * is set. */
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
static bool take_records(Buffers *buffers, PyObject *const *given, Records *of) {
    if (!(of->kind = take(buffers, given[0], 1, 0, false, "kind"))) return false;
    of->events = items(buffers, 0, 1);
    if (!(of->site = take(buffers, given[1], 4, of->events, false, "site"))) return false;
    if (!(of->ts = take(buffers, given[2], 8, of->events, false, "ts"))) return false;
    if (!(of->start = take(buffers, given[3], 8, 1, false, "strand_start"))) return false;
    of->strands = items(buffers, 3, 8) - 1;
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

static PyObject *count(PyObject *module, PyObject *args) {
    PyObject *given[5];
    if (!PyArg_ParseTuple(args, "OOOOO", given, given + 1, given + 2, given + 3, given + 4)) return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    Records of;
    BarWalk *walk = malloc(sizeof *walk);
    if (!walk) return PyErr_NoMemory();
    walk->running = NULL, walk->stack.items = NULL, walk->counts.items = NULL;
    if (!take_records(&buffers, given, &of)) goto done;
    uint32_t *depths = take(&buffers, given[4], 4, of.strands, true, "depths");
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
    release_buffers(&buffers);
    return result;
}

static PyObject *fill(PyObject *module, PyObject *args) {
    PyObject *given[8];
    if (!PyArg_ParseTuple(args, "OOOOOOOO", given, given + 1, given + 2, given + 3, given + 4, given + 5, given + 6, given + 7))
        return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    Records of;
    int64_t *next = NULL;
    BarWalk *walk = malloc(sizeof *walk);
    if (!walk) return PyErr_NoMemory();
    walk->running = NULL, walk->stack.items = NULL, walk->counts.items = NULL;
    if (!take_records(&buffers, given, &of)) goto done;
    const uint32_t *depths = take(&buffers, given[4], 4, of.strands, false, "depths");
    if (!depths) goto done;
    const int64_t *row_start = take(&buffers, given[5], 8, 1, false, "row_start");
    if (!row_start) goto done;
    int64_t rows = items(&buffers, 5, 8) - 1, wanted = 0;
    Bar *bars = take(&buffers, given[6], sizeof(int64_t), row_start[rows] * 3, true, "bars");
    if (!bars) goto done;
    uint16_t *depth = take(&buffers, given[7], 2, of.events, true, "depth");
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
    release_buffers(&buffers);
    return result;
}

static PyObject *coarser(PyObject *module, PyObject *args) {
    PyObject *given[4];
    int shift;
    Py_ssize_t sites;
    if (!PyArg_ParseTuple(args, "OOinOO", given, given + 1, &shift, &sites, given + 2, given + 3)) return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    const Bar *bars = take(&buffers, given[0], sizeof(int64_t), 0, false, "bars");
    if (!bars) goto done;
    int64_t count = items(&buffers, 0, sizeof(Bar));
    const int64_t *row_start = take(&buffers, given[1], 8, 1, false, "row_start");
    if (!row_start) goto done;
    int64_t rows = items(&buffers, 1, 8) - 1, made;
    Bar *to = take(&buffers, given[2], sizeof(int64_t), count * 3, true, "to");
    if (!to) goto done;
    int64_t *to_start = take(&buffers, given[3], 8, rows + 1, true, "to_start");
    if (!to_start || !bounds_fit(row_start, rows, count)) goto done;
    if (shift < 0 || shift > 62 || sites < 0 || sites > ASLEEP) {
        PyErr_SetString(PyExc_ValueError, "a width or a number of sites that cannot be");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    made = coarsen(bars, row_start, rows, shift, (size_t)sites, to, to_start);
    Py_END_ALLOW_THREADS
    if (made >= 0) result = PyLong_FromLongLong(made);
    else PyErr_SetString(PyExc_ValueError, "bars that are damaged, or no memory");
done:
    release_buffers(&buffers);
    return result;
}

static PyObject *paint(PyObject *module, PyObject *args) {
    PyObject *given[5];
    int exact, shift;
    Py_ssize_t sites;
    long long from, least;
    if (!PyArg_ParseTuple(args, "OOpnOLiLOO", given, given + 1, &exact, &sites, given + 2, &from, &shift, &least, given + 3,
                          given + 4))
        return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    Painter to = {.exact = exact, .from = from, .shift = shift, .least = least, .sites = (size_t)sites};
    if (!(to.bars = take(&buffers, given[0], sizeof(int64_t), 0, false, "bars"))) goto done;
    int64_t bars = items(&buffers, 0, sizeof(Bar));
    const int64_t *row_start = take(&buffers, given[1], 8, 1, false, "row_start");
    if (!row_start) goto done;
    int64_t rows = items(&buffers, 1, 8) - 1;
    const int64_t *wanted = take(&buffers, given[2], 8, 0, false, "rows");
    if (!wanted) goto done;
    int64_t count = items(&buffers, 2, 8);
    uint16_t *cells = take(&buffers, given[3], 2, 0, true, "cells");
    if (!cells) goto done;
    int64_t all = items(&buffers, 3, 2);
    uint8_t *covers = take(&buffers, given[4], 1, all, true, "covers");
    if (!covers) goto done;
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
    release_buffers(&buffers);
    return result;
}

static PyMethodDef methods[] = {
    {"count", count, METH_VARARGS, NULL},
    {"fill", fill, METH_VARARGS, NULL},
    {"coarser", coarser, METH_VARARGS, NULL},
    {"paint", paint, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "clew.graph.kernel._timeline", .m_methods = methods};

PyMODINIT_FUNC PyInit__timeline(void) { return PyModuleDef_Init(&definition); }
