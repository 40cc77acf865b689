/* The kernel objects that Python holds, Plane and Level, and the checks of arguments.
 *
 * Arrays arrive through the buffer protocol and results are bytes; see graph/kernel/_structure.pyi. Scratch memory
 * as large as the graph is stored in a Plane and lent to one call at a time; a concurrent second call allocates its
 * own. Invariants: the GIL is not held during passes over arrays; the owner of scratch memory changes only with the
 * GIL held. */
#ifndef CLEW_OBJECTS_H
#define CLEW_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "forest.h"
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
    void *states[POOL]; /* owned: scratch by region */
    void *marks[POOL];  /* owned: scratch by row */
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

static bool has(const Py_buffer *buffer, size_t count, size_t width_, const char *name) {
    if ((size_t)buffer->len == count * width_ && (uintptr_t)buffer->buf % (width_ < 8 ? 4 : 8) == 0) return true;
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes where %zu are needed", name, buffer->len, count * width_);
    return false;
}

/* Truth values by the edges' numbers. */
static bool mask_fits(const Py_buffer *buffer, const Plane *plane, const char *name) {
    return !buffer->buf || has(buffer, plane->edges, 1, name);
}

static PyObject *bytes_of(const void *data, size_t size) { return PyBytes_FromStringAndSize(data, (Py_ssize_t)size); }

/* One of the spare pieces of scratch, or a new one of zeros, which take memory only where they are written to. */
static void *take_spare(void **spare, size_t size) {
    for (int i = 0; i < POOL; i++)
        if (spare[i]) {
            void *found = spare[i];
            spare[i] = NULL;
            return found;
        }
    void *made = calloc(size, 1);
    if (!made) PyErr_NoMemory();
    return made;
}

static void give_spare(void **spare, void *scratch) {
    for (int i = 0; i < POOL; i++)
        if (!spare[i]) {
            spare[i] = scratch;
            return;
        }
    free(scratch);
}

static State *take_state(PlaneObject *self) {
    return take_spare(self->states, ((size_t)self->plane.regions + 1) * sizeof(State));
}

static void give_state(PlaneObject *self, State *state) { give_spare(self->states, state); }

static uint32_t *take_marks(PlaneObject *self) {
    return take_spare(self->marks, ((size_t)self->plane.events + 1) * sizeof(uint32_t));
}

static void give_marks(PlaneObject *self, uint32_t *marks) { give_spare(self->marks, marks); }

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

#endif
