/* Plane.condense, and Level: a plane's forest index for a level. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "arguments.h"
#include "condense.h"
#include "forest.h"
#include "memory.h"
#include "methods.h"
#include "objects.h"
#include "plane.h"
#include "slice.h"

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

PyObject *plane_condense(PlaneObject *self, PyObject *args) {
    int forward;
    Py_buffer lows, highs, allowed, labels, ts;
    if (!PyArg_ParseTuple(args, "py*y*z*y*y*", &forward, &lows, &highs, &allowed, &labels, &ts)) return NULL;
    const Plane *plane = &self->plane;
    PyObject *result = NULL;
    State *state = NULL;
    if (ranges_fit(plane, &lows, &highs) && mask_fits(&allowed, plane, "allowed") &&
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

PyObject *plane_level(PlaneObject *self, PyTypeObject *of, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    Module *module = PyType_GetModuleState(of);
    if (!module) return NULL;
    if (count != 2 || names) return PyErr_Format(PyExc_TypeError, "level takes labels and ts");
    LevelObject *level = (LevelObject *)module->level->tp_alloc(module->level, 0);
    if (!level) return NULL;
    if (PyObject_GetBuffer(args[0], &level->labels, PyBUF_C_CONTIGUOUS) ||
        PyObject_GetBuffer(args[1], &level->ts, PyBUF_C_CONTIGUOUS) || !has(&level->labels, self->plane.regions, 4, "labels") ||
        !has(&level->ts, self->plane.events, 8, "ts")) {
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
    /* A query that ran out of memory may have left bounds behind. */
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
PyType_Spec level_spec = {"clew.graph.kernel._structure.Level", sizeof(LevelObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, level_slots};
