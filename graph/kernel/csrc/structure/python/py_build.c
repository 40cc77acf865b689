/* build, which creates a plane's arrays, and times_ascend. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"
#include "build.h"
#include "methods.h"
#include "objects.h"
#include "plane.h"

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
        *in = (Input){events,         (uint32_t)regions, (uint32_t)runs, (uint32_t)edges, buffers[0].buf,
                      buffers[1].buf, buffers[2].buf,    buffers[3].buf, buffers[4].buf};
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

PyObject *kernel_build(PyObject *Py_UNUSED(module), PyObject *args) {
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

PyObject *kernel_times_ascend(PyObject *Py_UNUSED(module), PyObject *args) {
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
