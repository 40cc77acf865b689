/* Plane.path: read the columns of a graph by name and check them; see path.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "arguments.h"
#include "cancellation.h"
#include "methods.h"
#include "objects.h"
#include "path.h"
#include "plane.h"

enum {
    P_TS,
    P_KIND,
    P_SITE,
    P_STRAND,
    P_REGION,
    P_SRC,
    P_DST,
    P_FOLLOW,
    P_BOUNDS,
    P_ROOT,
    P_ADAPTER,
    P_STRAND_START,
    P_KINDS,
    P_BEGUN,
    PATH_COLUMNS
};
/* The things that a column has a value for. */
enum { OF_EVENT, OF_EDGE, OF_REGION, OF_SITE, OF_STRAND, OF_KIND };
static const struct {
    const char *name;
    size_t width;
    int of;
} PATH_COLUMN[PATH_COLUMNS] = {
    {"ts", 8, OF_EVENT},      {"kind", 1, OF_EVENT},  {"site", 4, OF_EVENT},   {"strand", 4, OF_EVENT},
    {"region", 4, OF_EVENT},  {"src", 8, OF_EDGE},    {"dst", 8, OF_EDGE},     {"follow", 1, OF_EDGE},
    {"bounds", 8, OF_REGION}, {"root", 1, OF_REGION}, {"adapter", 1, OF_SITE}, {"strand_start", 8, OF_STRAND},
    {"kinds", 1, OF_KIND},    {"begun", 4, OF_EVENT},
};

static bool path_columns(Py_buffer *c, int *taken, const Plane *plane, PyObject *columns) {
    for (; *taken < PATH_COLUMNS; ++*taken) {
        PyObject *column = PyMapping_GetItemString(columns, PATH_COLUMN[*taken].name);
        if (!column) return false;
        int writable = *taken == P_BEGUN ? PyBUF_WRITABLE : 0;
        int got = PyObject_GetBuffer(column, &c[*taken], PyBUF_C_CONTIGUOUS | writable);
        Py_DECREF(column);
        if (got) return false;
    }
    size_t count[] = {plane->events,
                      plane->edges,
                      (size_t)c[P_BOUNDS].len / 8,
                      (size_t)c[P_ADAPTER].len,
                      (size_t)c[P_STRAND_START].len / 8,
                      256};
    bool fits = true;
    for (int i = 0; fits && i < PATH_COLUMNS; i++)
        fits = has(&c[i], count[PATH_COLUMN[i].of], PATH_COLUMN[i].width, PATH_COLUMN[i].name);
    const int64_t *start = c[P_STRAND_START].buf;
    for (size_t i = 0; fits && i < count[OF_STRAND]; i++)
        if (start[i] < 0 || (uint64_t)start[i] > plane->events) {
            PyErr_SetString(PyExc_ValueError, "strand_start: not of this graph");
            fits = false;
        }
    return fits;
}

PyObject *plane_path(PlaneObject *self, PyObject *args) {
    long long event, since;
    int forward, taken = 0;
    PyObject *columns, *result = NULL;
    Py_buffer c[PATH_COLUMNS];
    const Plane *plane = &self->plane;
    if (!PyArg_ParseTuple(args, "pLLO", &forward, &event, &since, &columns)) return NULL;
    bool fits = path_columns(c, &taken, plane, columns);
    if (fits && (event < 0 || (uint64_t)event >= plane->events)) {
        PyErr_SetString(PyExc_IndexError, "event: not of this graph");
        fits = false;
    }
    if (fits) {
        PathWalk w = {.plane = plane,
                      .ts = c[P_TS].buf,
                      .src = c[P_SRC].buf,
                      .dst = c[P_DST].buf,
                      .bounds = c[P_BOUNDS].buf,
                      .strand_start = c[P_STRAND_START].buf,
                      .site = c[P_SITE].buf,
                      .strand = c[P_STRAND].buf,
                      .region = c[P_REGION].buf,
                      .kind = c[P_KIND].buf,
                      .adapter = c[P_ADAPTER].buf,
                      .root = c[P_ROOT].buf,
                      .follow = c[P_FOLLOW].buf,
                      .kinds = c[P_KINDS].buf,
                      .begun = c[P_BEGUN].buf,
                      .sites = (size_t)c[P_ADAPTER].len,
                      .strands = (size_t)c[P_STRAND_START].len / 8,
                      .regions = (size_t)c[P_BOUNDS].len / 8,
                      .since = since,
                      .forward = forward,
                      .thrown = thrown_here()};
        w.state = take_state(self);
        if (w.state) w.mark = take_marks(self);
        if (w.mark) {
            Py_BEGIN_ALLOW_THREADS
            walk_path(&w, event);
            for (size_t i = 0; i < w.opened.count; i++) w.state[w.opened.items[i]].reach = 0;
            /* Pieces begin with their last rows, and no other row is marked. */
            for (size_t i = 0; i < w.stretches.count; i++) w.mark[w.stretches.items[i].stop - 1] = 0;
            Py_END_ALLOW_THREADS
            if (w.bad) PyErr_Format(PyExc_ValueError, "%s: not of this graph", w.bad);
            else if (!walks_on(&w)) PyErr_NoMemory();
            else if (w.cancelled) raise_cancelled();
            else
                result = Py_BuildValue("NNN", bytes_of(w.pieces.items, w.pieces.count * sizeof(PathPiece)),
                                       bytes_of(w.stretches.items, w.stretches.count * sizeof(Stretch)),
                                       bytes_of(w.rivals.items, w.rivals.count * sizeof(int64_t)));
            give_marks(self, w.mark);
        }
        if (w.state) give_state(self, w.state);
        free(w.opened.items);
        free(w.entries.items);
        free(w.pool.items);
        free(w.keys.items);
        free(w.pieces.items);
        free(w.stretches.items);
        free(w.rivals.items);
    }
    for (int i = 0; i < taken; i++) PyBuffer_Release(&c[i]);
    return result;
}
