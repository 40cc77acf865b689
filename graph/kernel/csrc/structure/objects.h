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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "forest.h"
#include "plane.h"
#include "slice.h"

#define POOL 4

enum { START, END, OUT_FIRST, IN_FIRST, OUT, OUT_NEAR, OUT_EDGE, INTO, TREE, FOLLOW, RUN_ROW, RUN_POS, BY_ROW, ARRAYS };
extern const char *const NAMES[ARRAYS];
extern const size_t WIDTHS[ARRAYS];

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
    Query spare[POOL]; /* owned; an unused place has no roots */
} LevelObject;

typedef struct {
    PyTypeObject *level;
} Module;

bool has(const Py_buffer *buffer, size_t count, size_t width_, const char *name);

/* Truth values by the edges' numbers. */
bool mask_fits(const Py_buffer *buffer, const Plane *plane, const char *name);

State *take_state(PlaneObject *self);

void give_state(PlaneObject *self, State *state);

uint32_t *take_marks(PlaneObject *self);

void give_marks(PlaneObject *self, uint32_t *marks);

/* Are these positions in these regions? */
bool pairs_fit(const Plane *plane, const Py_buffer *regions, const Py_buffer *positions);

/* Are these ranges of positions? */
bool ranges_fit(const Plane *plane, const Py_buffer *lows, const Py_buffer *highs);

#endif
