/* Plane.gather: read the columns of a graph by name and check them; see gather.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "arguments.h"
#include "cancellation.h"
#include "gather.h"
#include "gather_sums.h"
#include "methods.h"
#include "objects.h"
#include "plane.h"
#include "slice.h"

enum {
    TS,
    KIND,
    IDLE,
    SITE,
    STRAND,
    REGION,
    OWNER,
    CALL_OF,
    INNER,
    ENTERS,
    TOTAL,
    WAITING,
    PAUSED,
    SRC,
    DST,
    EDGE_KIND,
    CHANNEL,
    CODES,
    RUNNING,
    BY_SITE,
    BY_STRAND,
    NAMED,
    COLUMNS
};
/* The things that a column has a value for. */
enum { PER_EVENT, PER_CALL, PER_EDGE, PER_ROW, PER_SITE, PER_STRAND };
typedef struct {
    const char *name;
    size_t width; /* 0: 4 or 8 */
    int per;
} Described;
static const Described DESCRIBED[COLUMNS] = {
    {"ts", 8, PER_EVENT},         {"kind", 1, PER_EVENT},   {"idle", 1, PER_EVENT},  {"site", 4, PER_EVENT},
    {"strand", 4, PER_EVENT},     {"region", 4, PER_EVENT}, {"owner", 0, PER_EVENT}, {"call", 0, PER_EVENT},
    {"inner", 0, PER_EVENT},      {"enter", 8, PER_CALL},   {"total", 8, PER_CALL},  {"waiting", 8, PER_CALL},
    {"paused", 8, PER_CALL},      {"src", 8, PER_EDGE},     {"dst", 8, PER_EDGE},    {"edge_kind", 1, PER_EDGE},
    {"channel", 4, PER_EDGE},     {"codes", 4, PER_ROW},    {"running", 4, PER_ROW}, {"by_site", 4, PER_SITE},
    {"by_strand", 4, PER_STRAND}, {"named", 1, PER_SITE},
};

typedef struct {
    Py_buffer columns[COLUMNS], rows, edges, given;
    bool held[COLUMNS];
} Taken;

static void taken_free(Taken *t) {
    for (int i = 0; i < COLUMNS; i++)
        if (t->held[i]) PyBuffer_Release(&t->columns[i]);
    if (t->rows.obj) PyBuffer_Release(&t->rows);
    if (t->edges.obj) PyBuffer_Release(&t->edges);
    if (t->given.obj) PyBuffer_Release(&t->given);
}

static bool take_columns(Taken *t, PyObject *columns) {
    for (int i = 0; i < COLUMNS; i++) {
        PyObject *column = PyMapping_GetItemString(columns, DESCRIBED[i].name);
        if (!column) return false;
        int got = PyObject_GetBuffer(column, &t->columns[i], PyBUF_C_CONTIGUOUS);
        Py_DECREF(column);
        if (got) return false;
        t->held[i] = true;
    }
    return true;
}

/* Do these numbers ascend (strictly) below a limit? */
static bool numbers_ascend(const Py_buffer *numbers, uint64_t limit, const char *name) {
    const int64_t *items = numbers->buf;
    int64_t before = -1;
    for (size_t i = 0; i < (size_t)numbers->len / 8; i++) {
        if (items[i] <= before || (uint64_t)items[i] >= limit) {
            PyErr_Format(PyExc_ValueError, "%s: not ascending, or not of this graph", name);
            return false;
        }
        before = items[i];
    }
    return true;
}

/* Checks that the columns have the same length, and fills `a`. */
static bool asked_of(Taken *t, const Plane *plane, Asked *a) {
    const Py_buffer *c = t->columns;
    size_t per[] = {plane->events,
                    (size_t)c[ENTERS].len / 8,
                    (size_t)c[SRC].len / 8,
                    0,
                    (size_t)c[BY_SITE].len / 4,
                    (size_t)c[BY_STRAND].len / 4};
    per[PER_ROW] = t->rows.buf ? (size_t)t->rows.len / 8 : plane->events;
    for (int i = 0; i < COLUMNS; i++) {
        bool absent = !c[i].len && (i == CODES || i == RUNNING);
        size_t width_ = DESCRIBED[i].width;
        if (!width_) width_ = (size_t)c[i].len == plane->events * 8 ? 8 : 4;
        if (!absent && !has(&c[i], per[DESCRIBED[i].per], width_, DESCRIBED[i].name)) return false;
    }
    bool coded = c[CODES].len, fits = true;
    if (t->rows.buf) fits &= has(&t->rows, per[PER_ROW], 8, "rows") && numbers_ascend(&t->rows, plane->events, "rows");
    if (fits && t->edges.buf)
        fits &= has(&t->edges, (size_t)t->edges.len / 8, 8, "edges") && numbers_ascend(&t->edges, per[PER_EDGE], "edges");
    if (fits && t->given.buf) fits &= has(&t->given, per[PER_ROW], 4, "nodes");
    for (size_t i = 0; fits && t->given.buf && i < per[PER_ROW]; i++)
        if (((uint32_t *)t->given.buf)[i] >= per[PER_ROW]) {
            PyErr_SetString(PyExc_ValueError, "nodes: more than there are rows");
            fits = false;
        }
    if (!fits) return false;
    Column rows_of[3];
    for (int i = 0; i < 3; i++)
        rows_of[i] = (Column){c[OWNER + i].buf, plane->events && (size_t)c[OWNER + i].len == plane->events * 8};
    *a = (Asked){plane,
                 t->rows.buf,
                 per[PER_ROW],
                 {coded ? c[CODES].buf : NULL, coded ? c[RUNNING].buf : NULL, per[PER_SITE] ? c[BY_SITE].buf : NULL,
                  c[BY_STRAND].buf, c[NAMED].buf, per[PER_SITE], per[PER_STRAND]},
                 c[TS].buf,
                 c[KIND].buf,
                 c[IDLE].buf,
                 c[SITE].buf,
                 c[STRAND].buf,
                 c[REGION].buf,
                 rows_of[0],
                 rows_of[1],
                 rows_of[2],
                 c[ENTERS].buf,
                 c[TOTAL].buf,
                 c[WAITING].buf,
                 c[PAUSED].buf,
                 per[PER_CALL],
                 t->edges.buf,
                 t->edges.buf ? (size_t)t->edges.len / 8 : per[PER_EDGE],
                 c[SRC].buf,
                 c[DST].buf,
                 c[EDGE_KIND].buf,
                 c[CHANNEL].buf,
                 t->given.buf};
    return true;
}

/* Resets the scratch that the walks wrote to, and replaces runs by nodes. */
static void gather_settle(Gathering *g, bool done) {
    const Asked *a = g->asked;
    Cursor c = {0};
    for (size_t i = 0; i < g->looked; i++) {
        uint64_t row = a->rows ? (uint64_t)a->rows[i] : i;
        if (row >= c.stop) {
            cursor_move(a->plane, &c, row);
            g->state[c.region] = (State){0};
        }
        if (g->mark) g->mark[row] = 0;
        if (done) g->run_of[i] = ranked_node(g, node_at(g, (uint32_t)i));
    }
}

/* The nodes in their order. */
static PyObject *nodes_of(const Gathering *g) {
    PyObject *nodes = bytes_of(NULL, g->node_count * sizeof(Node));
    Node *into = nodes ? (Node *)PyBytes_AS_STRING(nodes) : NULL;
    if (!into) return NULL;
    Py_BEGIN_ALLOW_THREADS
    for (uint32_t node = 0; node < g->node_count; node++) {
        Node *copy = &into[ranked_node(g, node)];
        *copy = g->nodes[node];
        copy->strand = 0;
    }
    Py_END_ALLOW_THREADS
    return nodes;
}

static PyObject *edges_of(const Between *b, size_t nodes) {
    PyObject *edges = bytes_of(NULL, b->edges.count * sizeof(Edge));
    size_t kept;
    if (!edges) return NULL;
    Py_BEGIN_ALLOW_THREADS
    kept = merge_edges(&b->edges, nodes, (Edge *)PyBytes_AS_STRING(edges));
    Py_END_ALLOW_THREADS
    if (kept == SIZE_MAX) {
        Py_DECREF(edges);
        return PyErr_NoMemory();
    }
    if (kept < b->edges.count) _PyBytes_Resize(&edges, (Py_ssize_t)(kept * sizeof(Edge)));
    return edges;
}

PyObject *plane_gather(PlaneObject *self, PyObject *args) {
    PyObject *columns, *result = NULL;
    Taken t = {0};
    Asked a;
    if (!PyArg_ParseTuple(args, "z*z*z*O", &t.rows, &t.edges, &t.given, &columns)) return NULL;
    if (take_columns(&t, columns) && asked_of(&t, &self->plane, &a)) {
        Gathering g = {.asked = &a, .state = take_state(self), .thrown = thrown_here()};
        Between b = {0};
        PyObject *node_of = bytes_of(NULL, a.count * 4);
        if (g.state && a.rows) g.mark = take_marks(self);
        bool ready = g.state && node_of && (!a.rows || g.mark), done = false;
        if (ready) {
            g.run_of = (uint32_t *)PyBytes_AS_STRING(node_of);
            Py_BEGIN_ALLOW_THREADS
            done = gather(&g, &b) && !g.bad;
            gather_settle(&g, done);
            Py_END_ALLOW_THREADS
        }
        if (g.state) give_state(self, g.state);
        if (g.mark) give_marks(self, g.mark);
        /* The walks' memory makes room for the answer, and the nodes' for edges. */
        free(g.runs.items);
        g.runs.items = NULL;
        between_forget(&b);
        if (done) {
            PyObject *nodes = nodes_of(&g);
            free(g.nodes);
            g.nodes = NULL;
            result = Py_BuildValue("ONN", node_of, nodes, nodes ? edges_of(&b, g.node_count) : NULL);
        } else if (g.bad) PyErr_Format(PyExc_ValueError, "%s: not of this graph", g.bad);
        else if (g.cancelled) raise_cancelled();
        else if (!PyErr_Occurred()) PyErr_NoMemory();
        Py_XDECREF(node_of);
        free(g.nodes);
        free(g.rank);
        between_free(&b);
    }
    taken_free(&t);
    return result;
}
