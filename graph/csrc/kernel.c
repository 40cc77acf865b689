/* clew.graph._kernel: the structure plane's building, slices and condensing, over arrays that the caller holds.
 *
 * Arrays come in by the buffer protocol and go out as bytes; graph/kernel.pyi says which. A Plane checks its arrays once, when
 * it is made. Scratch as large as the graph is kept with it and handed to one call at a time; a second call at the same time
 * gets some of its own. Invariants: the GIL is not held while arrays are walked; scratch changes hands only with it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "build.h"
#include "condense.h"
#include "forest.h"
#include "memory.h"
#include "plane.h"
#include "slice.h"

#define POOL 4

enum { START, END, OUT_FIRST, IN_FIRST, OUT, OUT_NEAR, OUT_EDGE, INTO, TREE, FOLLOW, RUN_ROW, RUN_POS, BY_ROW, ARRAYS };
static const char *const NAMES[ARRAYS] = {"start", "end",  "out_first", "in_first", "out",     "out_near", "out_edge",
                                          "into",  "tree", "follow",    "run_row",  "run_pos", "by_row"};
static const size_t WIDTHS[ARRAYS] = {4, 4, 4, 4, 12, 4, 4, 12, 8, 8, 4, 4, 4};

typedef struct {
    PyObject_HEAD
    Plane plane;
    Py_buffer arrays[ARRAYS];
    bool held[ARRAYS];
    State *spare[POOL]; /* owned */
} PlaneObject;

typedef struct {
    PyObject_HEAD
    PyObject *plane; /* owned */
    Py_buffer labels, ts;
    Level level;
    bool made;
    Query spare[POOL]; /* owned; without roots where there is none */
} LevelObject;

typedef struct {
    PyTypeObject *level;
} Module;

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static bool has(const Py_buffer *buffer, size_t count, size_t width_, const char *name) {
    if ((size_t)buffer->len == count * width_ && (uintptr_t)buffer->buf % (width_ < 8 ? 4 : 8) == 0) return true;
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes where %zu are needed", name, buffer->len, count * width_);
    return false;
}

static bool bits_fit(const Py_buffer *buffer, const Plane *plane, const char *name) {
    return !buffer->buf || has(buffer, ((size_t)plane->edges + 63) / 64, 8, name);
}

static PyObject *bytes_of(const void *data, size_t size) {
    return PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
}

/* ---- Plane ------------------------------------------------------------------------------------------------------- */

static void plane_dealloc(PlaneObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < ARRAYS; i++)
        if (self->held[i]) PyBuffer_Release(&self->arrays[i]);
    for (int i = 0; i < POOL; i++) free(self->spare[i]);
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
    const size_t counts[ARRAYS] = {regions + 1, regions,          regions + 1,      regions + 1, edges,
                                   edges,       edges,            edges,            (edges + 63) / 64,
                                   (edges + 63) / 64, runs, a[RUN_POS].len ? runs : 0, runs};
    for (int i = 0; i < ARRAYS; i++)
        if (!has(&a[i], counts[i], WIDTHS[i], NAMES[i])) return false;
    if (regions >= NONE || edges >= NONE || runs >= NONE) {
        PyErr_SetString(PyExc_ValueError, "more than 4,294,967,294 of something");
        return false;
    }
    const uint32_t *start = a[START].buf;
    self->plane = (Plane){start[regions], (uint32_t)regions, (uint32_t)edges, (uint32_t)runs, false, !a[RUN_POS].len,
                          start, a[END].buf, a[OUT_FIRST].buf, a[IN_FIRST].buf, a[OUT].buf, a[OUT_NEAR].buf,
                          a[OUT_EDGE].buf, a[INTO].buf, a[TREE].buf, a[FOLLOW].buf, a[RUN_ROW].buf, a[RUN_POS].buf,
                          a[BY_ROW].buf};
    if (self->plane.whole && runs != regions) {
        PyErr_SetString(PyExc_ValueError, "run_pos: it is not there, and there are more runs than regions");
        return false;
    }
    return true;
}

static PyObject *plane_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
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

static State *take_state(PlaneObject *self) {
    for (int i = 0; i < POOL; i++)
        if (self->spare[i]) {
            State *state = self->spare[i];
            self->spare[i] = NULL;
            return state;
        }
    size_t size = ((size_t)self->plane.regions + 1) * sizeof(State);
    /* Its zeros take memory only where they are written to. */
    State *state = calloc(size, 1);
    if (!state) PyErr_NoMemory();
    return state;
}

static void give_state(PlaneObject *self, State *state) {
    for (int i = 0; i < POOL; i++)
        if (!self->spare[i]) {
            self->spare[i] = state;
            return;
        }
    free(state);
}

/* Are these positions in these regions? */
static bool pairs_fit(const Plane *plane, const Py_buffer *regions, const Py_buffer *positions) {
    size_t count = (size_t)regions->len / 4;
    if (!has(regions, count, 4, "regions") || !has(positions, count, 4, "positions")) return false;
    const uint32_t *region = regions->buf, *position = positions->buf;
    for (size_t i = 0; i < count; i++)
        if (region[i] >= plane->regions || position[i] < plane->start[region[i]] ||
            position[i] >= plane->start[region[i] + 1]) {
            PyErr_SetString(PyExc_ValueError, "positions: not in these regions");
            return false;
        }
    return true;
}

static PyObject *plane_locate(PlaneObject *self, PyObject *args) {
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

static PyObject *plane_rows_of(PlaneObject *self, PyObject *args) {
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

static PyObject *plane_owners(PlaneObject *self, PyObject *args) {
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

static PyObject *plane_slice(PlaneObject *self, PyObject *args) {
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
    else if (pairs_fit(plane, &regions, &positions) && bits_fit(&allowed, plane, "allowed") &&
             bits_fit(&crosses, plane, "crosses") && (state = take_state(self))) {
        size_t count = (size_t)regions.len / 4;
        bool ascend = true;
        for (size_t i = 1; i < count; i++) ascend &= ((uint32_t *)regions.buf)[i - 1] <= ((uint32_t *)regions.buf)[i];
        Slicing s = {.plane = plane, .forward = forward, .allowed = allowed.buf, .crosses = crosses.buf, .state = state,
                     .by_trees = ascend && forward && !allowed.buf && max_hops < 0 && max_network_hops < 0,
                     .starts = regions.buf, .start_count = count};
        Py_BEGIN_ALLOW_THREADS
        if (max_hops >= 0 && max_network_hops >= 0)
            slice_limited(&s, regions.buf, positions.buf, count, max_hops,
                          (uint32_t)(max_network_hops < max_hops ? max_network_hops : max_hops));
        else {
            for (size_t i = 0; i < count; i++)
                reach_position(&s, ((uint32_t *)regions.buf)[i], ((uint32_t *)positions.buf)[i]);
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

/* Goes on with a slice whose bounds the caller keeps: new starts are reached, and edges are followed for some rounds. */
static PyObject *plane_resume(PlaneObject *self, PyObject *args) {
    int forward;
    Py_buffer state, pending, regions, positions, allowed;
    long long rounds;
    if (!PyArg_ParseTuple(args, "pw*y*y*y*z*L", &forward, &state, &pending, &regions, &positions, &allowed, &rounds))
        return NULL;
    const Plane *plane = &self->plane;
    PyObject *result = NULL;
    if (has(&state, plane->regions, sizeof(State), "state") && has(&pending, (size_t)pending.len / 8, 8, "pending") &&
        pairs_fit(plane, &regions, &positions) && bits_fit(&allowed, plane, "allowed")) {
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
                                   bytes_of(s.ranges.items, s.ranges.count * sizeof(Range)),
                                   (unsigned long long)s.followed);
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

/* Are these ranges of positions? */
static bool ranges_fit(const Plane *plane, const Py_buffer *lows, const Py_buffer *highs) {
    size_t count = (size_t)lows->len / 4;
    if (!has(lows, count, 4, "lows") || !has(highs, count, 4, "highs")) return false;
    const uint32_t *low = lows->buf, *high = highs->buf;
    for (size_t i = 0; i < count; i++)
        if (low[i] >= high[i] || high[i] > plane->events) {
            PyErr_SetString(PyExc_ValueError, "highs: not behind the lows, or beyond the last position");
            return false;
        }
    return true;
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
            else for (; row < last; row++) bits[row >> 6] |= 1ull << (row & 63);
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
            for (uint32_t j = 0; j < (uint32_t)stretches.items[i]; j++)
                rows[at++] = (int64_t)(stretches.items[i] >> 32) + j;
    }
    /* Of ranges that overlap. */
    while (at < total) rows[at++] = 0;
    free(bits);
    free(stretches.items);
    return !stretches.failed;
}

static PyObject *plane_rows(PlaneObject *self, PyObject *args) {
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

/* Per region of a slice its bound; ranges end with a region, backward each begins with one. */
static void bounds_of(const Plane *plane, bool forward, const Py_buffer *lows, const Py_buffer *highs, Numbers *regions,
                      Numbers *bounds) {
    for (size_t i = 0; i < (size_t)lows->len / 4; i++) {
        uint32_t low = ((uint32_t *)lows->buf)[i], high = ((uint32_t *)highs->buf)[i];
        for (uint32_t region = region_of(plane, low); region < plane->regions && plane->start[region] < high; region++) {
            Numbers_push(regions, region);
            Numbers_push(bounds, !forward ? high - 1 : plane->start[region] < low ? low : plane->start[region]);
        }
    }
}

/* (vertices, arcs), or (vertices, arcs, more). `more` is stolen. */
static PyObject *condensed_result(const Condensed *c, PyObject *more) {
    PyObject *vertices = bytes_of(c->vertices.items, c->vertices.count * sizeof(Vertex));
    PyObject *arcs = bytes_of(c->arcs, c->arc_count * sizeof(Arc));
    if (vertices && arcs) return more ? Py_BuildValue("NNN", vertices, arcs, more) : Py_BuildValue("NN", vertices, arcs);
    Py_XDECREF(vertices);
    Py_XDECREF(arcs);
    Py_XDECREF(more);
    return NULL;
}

static PyObject *plane_condense(PlaneObject *self, PyObject *args) {
    int forward;
    Py_buffer lows, highs, allowed, labels, ts;
    if (!PyArg_ParseTuple(args, "py*y*z*y*y*", &forward, &lows, &highs, &allowed, &labels, &ts)) return NULL;
    const Plane *plane = &self->plane;
    PyObject *result = NULL;
    State *state = NULL;
    if (ranges_fit(plane, &lows, &highs) && bits_fit(&allowed, plane, "allowed") &&
        has(&labels, plane->regions, 4, "labels") && has(&ts, plane->events, 8, "ts") && (state = take_state(self))) {
        Slicing s = {.plane = plane, .forward = forward, .allowed = allowed.buf, .state = state};
        Numbers regions = {0}, bounds = {0};
        Condensed c = {0};
        uint32_t *of_region = NULL;
        bool done;
        Py_BEGIN_ALLOW_THREADS
        bounds_of(plane, forward, &lows, &highs, &regions, &bounds);
        of_region = malloc((regions.count + 1) * sizeof *of_region);
        done = !regions.failed && !bounds.failed && of_region &&
               condense(&s, regions.items, bounds.items, regions.count, labels.buf, ts.buf, &c, of_region);
        Py_END_ALLOW_THREADS
        give_state(self, state);
        PyObject *vertex = done ? bytes_of(of_region, regions.count * 4) : PyErr_NoMemory();
        if (vertex) result = condensed_result(&c, vertex);
        condensed_free(&c);
        free(of_region);
        free(regions.items);
        free(bounds.items);
    }
    PyBuffer_Release(&lows);
    PyBuffer_Release(&highs);
    if (allowed.obj) PyBuffer_Release(&allowed);
    PyBuffer_Release(&labels);
    PyBuffer_Release(&ts);
    return result;
}

static PyObject *plane_level(PlaneObject *self, PyTypeObject *of, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    Module *module = PyType_GetModuleState(of);
    if (!module) return NULL;
    if (count != 2 || names) return PyErr_Format(PyExc_TypeError, "level takes labels and ts");
    LevelObject *level = (LevelObject *)module->level->tp_alloc(module->level, 0);
    if (!level) return NULL;
    if (PyObject_GetBuffer(args[0], &level->labels, PyBUF_C_CONTIGUOUS) ||
        PyObject_GetBuffer(args[1], &level->ts, PyBUF_C_CONTIGUOUS) ||
        !has(&level->labels, self->plane.regions, 4, "labels") || !has(&level->ts, self->plane.events, 8, "ts")) {
        Py_DECREF(level);
        return NULL;
    }
    level->plane = Py_NewRef((PyObject *)self);
    Py_BEGIN_ALLOW_THREADS
    level->made = level_make(&level->level, &self->plane, level->labels.buf, level->ts.buf);
    Py_END_ALLOW_THREADS
    if (!level->made) {
        Py_DECREF(level);
        return PyErr_NoMemory();
    }
    return (PyObject *)level;
}

static PyMethodDef plane_methods[] = {
    {"locate", (PyCFunction)plane_locate, METH_VARARGS, "(rows) -> regions, positions"},
    {"rows_of", (PyCFunction)plane_rows_of, METH_VARARGS, "(regions, positions) -> rows"},
    {"owners", (PyCFunction)plane_owners, METH_VARARGS, "(bounds) -> per region the stretch of rows that it lies in"},
    {"slice", (PyCFunction)plane_slice, METH_VARARGS,
     "(forward, regions, positions, allowed, crosses, max_hops, max_network_hops) -> lows, highs, followed"},
    {"resume", (PyCFunction)plane_resume, METH_VARARGS,
     "(forward, state, pending, regions, positions, allowed, rounds) -> moves, pending, followed"},
    {"rows", (PyCFunction)plane_rows, METH_VARARGS, "(lows, highs) -> rows, ascending"},
    {"condense", (PyCFunction)plane_condense, METH_VARARGS,
     "(forward, lows, highs, allowed, labels, ts) -> vertices, arcs, vertex of each region"},
    {"level", (PyCFunction)(void (*)(void))plane_level, METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
     "(labels, ts) -> a Level of this plane"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot plane_slots[] = {
    {Py_tp_new, plane_new}, {Py_tp_dealloc, plane_dealloc}, {Py_tp_methods, plane_methods}, {0, NULL}};
static PyType_Spec plane_spec = {"clew.graph._kernel.Plane", sizeof(PlaneObject), 0, Py_TPFLAGS_DEFAULT, plane_slots};

/* ---- Level ------------------------------------------------------------------------------------------------------- */

static void level_dealloc(LevelObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (self->made) level_free(&self->level);
    for (int i = 0; i < POOL; i++) query_free(&self->spare[i]);
    PyBuffer_Release(&self->labels);
    PyBuffer_Release(&self->ts);
    Py_XDECREF(self->plane);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *level_condense_row(LevelObject *self, PyObject *argument) {
    const Level *level = &self->level;
    unsigned long long row = PyLong_AsUnsignedLongLong(argument);
    if (PyErr_Occurred()) return NULL;
    if (row >= level->plane->events) return PyErr_Format(PyExc_IndexError, "row %llu: no such event", row);
    Query query = {0};
    for (int i = 0; i < POOL && !query.roots; i++)
        if (self->spare[i].roots) {
            query = self->spare[i];
            self->spare[i] = (Query){0};
        }
    Condensed c = {0};
    bool done, tangled = false;
    Py_BEGIN_ALLOW_THREADS
    done = query.roots || query_make(&query, level);
    if (done) done = level_condense(level, &query, position_of(level->plane, (uint32_t)row), &c, &tangled);
    Py_END_ALLOW_THREADS
    int place = 0;
    while (place < POOL && self->spare[place].roots) place++;
    /* What ran out of memory may have left bounds behind. */
    if (done && place < POOL) self->spare[place] = query;
    else query_free(&query);
    PyObject *result = !done ? PyErr_NoMemory() : tangled ? Py_NewRef(Py_None) : condensed_result(&c, NULL);
    condensed_free(&c);
    return result;
}

static PyObject *level_size(LevelObject *self, PyObject *Py_UNUSED(none)) {
    const Level *l = &self->level;
    size_t regions = l->plane->regions;
    size_t bytes = (size_t)l->roots * (4 + sizeof(Root)) + (size_t)l->sides * sizeof(Side) + l->plane->edges / 16 +
                   (size_t)l->pieces * (sizeof(Piece) + 8) + regions * 4 + regions / 8 + regions / 16;
    return PyLong_FromSize_t(bytes);
}

static PyMethodDef level_methods[] = {
    {"condense", (PyCFunction)level_condense_row, METH_O, "(row) -> vertices, arcs; None when edges lead back to the row"},
    {"size", (PyCFunction)level_size, METH_NOARGS, "() -> bytes that it and one query at a time take"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot level_slots[] = {{Py_tp_dealloc, level_dealloc}, {Py_tp_methods, level_methods}, {0, NULL}};
static PyType_Spec level_spec = {"clew.graph._kernel.Level", sizeof(LevelObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, level_slots};

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* Parses (events, regions, run_row, run_region, src, dst, excluded) and what follows. */
static bool input_of(PyObject *args, Input *in, Py_buffer *buffers, Py_buffer *ts) {
    unsigned long long events, regions;
    int good = ts ? PyArg_ParseTuple(args, "KKy*y*y*y*z*y*", &events, &regions, &buffers[0], &buffers[1], &buffers[2],
                                     &buffers[3], &buffers[4], ts)
                  : PyArg_ParseTuple(args, "KKy*y*y*y*z*", &events, &regions, &buffers[0], &buffers[1], &buffers[2],
                                     &buffers[3], &buffers[4]);
    if (!good) return false;
    size_t runs = (size_t)buffers[0].len / 4, edges = (size_t)buffers[2].len / 4;
    if (events >= NONE || regions >= NONE || runs >= NONE || edges >= NONE)
        PyErr_SetString(PyExc_OverflowError, "a graph has at most 4,294,967,294 events, regions and edges");
    else if (has(&buffers[0], runs, 4, "run_row") && has(&buffers[1], runs, 4, "run_region") &&
             has(&buffers[2], edges, 4, "src") && has(&buffers[3], edges, 4, "dst") &&
             (!buffers[4].buf || (size_t)buffers[4].len == edges || has(&buffers[4], edges, 1, "excluded")) &&
             (!ts || has(ts, events, 8, "ts"))) {
        *in = (Input){events, (uint32_t)regions, (uint32_t)runs, (uint32_t)edges, buffers[0].buf, buffers[1].buf,
                      buffers[2].buf, buffers[3].buf, buffers[4].buf};
        return true;
    }
    for (int i = 0; i < 5; i++)
        if (buffers[i].obj) PyBuffer_Release(&buffers[i]);
    if (ts) PyBuffer_Release(ts);
    return false;
}

/* Adds an array of the plane to the result; gives its memory. */
static void *array_in(PyObject *result, int which, size_t count) {
    PyObject *array = bytes_of(NULL, count * WIDTHS[which]);
    if (!array) return NULL;
    int set = PyDict_SetItemString(result, NAMES[which], array);
    Py_DECREF(array);
    return set ? NULL : PyBytes_AS_STRING(array);
}

static bool build_arrays(const Input *in, Build *b, PyObject *result) {
    size_t words = ((size_t)in->edges + 63) / 64;
    bool whole = in->runs == b->regions;
    b->start = array_in(result, START, (size_t)b->regions + 1);
    b->end = array_in(result, END, b->regions);
    b->out_first = array_in(result, OUT_FIRST, (size_t)b->regions + 1);
    b->in_first = array_in(result, IN_FIRST, (size_t)b->regions + 1);
    b->out = array_in(result, OUT, in->edges);
    b->out_near = array_in(result, OUT_NEAR, in->edges);
    b->out_edge = array_in(result, OUT_EDGE, in->edges);
    b->into = array_in(result, INTO, in->edges);
    b->tree = array_in(result, TREE, words);
    b->follow = array_in(result, FOLLOW, words);
    b->run_row = array_in(result, RUN_ROW, in->runs);
    b->run_pos = array_in(result, RUN_POS, whole ? 0 : in->runs);
    if (whole) b->run_pos = NULL;
    b->by_row = array_in(result, BY_ROW, in->runs);
    return !PyErr_Occurred();
}

static PyObject *kernel_build(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer buffers[5] = {0};
    Input in;
    if (!input_of(args, &in, buffers, NULL)) return NULL;
    Build b = {0};
    PyObject *result = PyDict_New();
    const char *bad;
    bool done = false;
    Py_BEGIN_ALLOW_THREADS
    bad = build_runs(&in, &b);
    if (!bad) bad = build_ends(&in, &b);
    Py_END_ALLOW_THREADS
    if (bad && *bad) PyErr_Format(PyExc_ValueError, "%s: not of this graph", bad);
    else if (bad) PyErr_NoMemory();
    else if (result && build_arrays(&in, &b, result)) {
        Py_BEGIN_ALLOW_THREADS
        done = build_order(&in, &b) && build_parents(&in, &b) && build_forest(&in, &b);
        if (done) build_out(&in, &b);
        done = done && build_into(&in, &b) && build_rows(&in, &b);
        Py_END_ALLOW_THREADS
        if (!done) PyErr_NoMemory();
    }
    build_free(&b);
    for (int i = 0; i < 5; i++)
        if (buffers[i].obj) PyBuffer_Release(&buffers[i]);
    if (!done) Py_CLEAR(result);
    return result;
}

static PyObject *kernel_times_ascend(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer buffers[5] = {0}, ts = {0};
    Input in;
    if (!input_of(args, &in, buffers, &ts)) return NULL;
    Build b = {0};
    bool steady = false, forward = false, done = false;
    const char *bad;
    Py_BEGIN_ALLOW_THREADS
    bad = build_runs(&in, &b);
    for (uint32_t edge = 0; !bad && edge < in.edges; edge++)
        if (in.src[edge] >= in.events || in.dst[edge] >= in.events) bad = "edges";
    if (!bad) done = times_ascend(&in, ts.buf, &steady, &forward);
    Py_END_ALLOW_THREADS
    build_free(&b);
    for (int i = 0; i < 5; i++)
        if (buffers[i].obj) PyBuffer_Release(&buffers[i]);
    PyBuffer_Release(&ts);
    if (bad && *bad) return PyErr_Format(PyExc_ValueError, "%s: not of this graph", bad);
    if (!done) return PyErr_NoMemory();
    return Py_BuildValue("NN", PyBool_FromLong(steady), PyBool_FromLong(forward));
}

/* Two sums over 8-byte words (the last one filled up with zeros): the words, and the sums so far. One wrong word, or two
 * exchanged ones, always show. */
static PyObject *kernel_checksum(PyObject *Py_UNUSED(module), PyObject *argument) {
    Py_buffer data;
    if (PyObject_GetBuffer(argument, &data, PyBUF_C_CONTIGUOUS)) return NULL;
    uint64_t sum = 0, sums = 0;
    size_t words = (size_t)data.len / 8;
    Py_BEGIN_ALLOW_THREADS
    const char *bytes = data.buf;
    uint64_t word = 0;
    for (size_t i = 0; i < words; i++) {
        memcpy(&word, bytes + 8 * i, 8);
        sum += word;
        sums += sum;
    }
    if (data.len % 8) {
        word = 0;
        memcpy(&word, bytes + 8 * words, (size_t)data.len % 8);
        sum += word;
        sums += sum;
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    return Py_BuildValue("KK", (unsigned long long)sum, (unsigned long long)sums);
}

/* ---- the module -------------------------------------------------------------------------------------------------- */

static PyMethodDef kernel_methods[] = {
    {"build", kernel_build, METH_VARARGS,
     "(events, regions, run_row, run_region, src, dst, excluded) -> the plane's arrays by name"},
    {"times_ascend", kernel_times_ascend, METH_VARARGS,
     "(…, ts) -> do times never go back inside a region, along an edge"},
    {"checksum", kernel_checksum, METH_O, "(data) -> two numbers"},
    {NULL, NULL, 0, NULL},
};

static int kernel_exec(PyObject *module) {
    Module *state = PyModule_GetState(module);
    PyObject *plane = PyType_FromModuleAndSpec(module, &plane_spec, NULL);
    if (!plane) return -1;
    int added = PyModule_AddObjectRef(module, "Plane", plane);
    Py_DECREF(plane);
    if (added) return -1;
    state->level = (PyTypeObject *)PyType_FromModuleAndSpec(module, &level_spec, NULL);
    return state->level ? 0 : -1;
}

static int kernel_clear(PyObject *module) {
    Py_CLEAR(((Module *)PyModule_GetState(module))->level);
    return 0;
}

static int kernel_traverse(PyObject *module, visitproc visit, void *arg) {
    Py_VISIT(((Module *)PyModule_GetState(module))->level);
    return 0;
}

static PyModuleDef_Slot kernel_slots[] = {{Py_mod_exec, kernel_exec}, {0, NULL}};
static struct PyModuleDef kernel_module = {
    PyModuleDef_HEAD_INIT, "clew.graph._kernel", NULL, sizeof(Module), kernel_methods, kernel_slots, kernel_traverse,
    kernel_clear, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&kernel_module); }
