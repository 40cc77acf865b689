/* clew.graph.kernel._structure: building, slicing and condensing the structure plane, on arrays that the caller
 * holds.
 *
 * This file defines the module with its types, functions and checksums; `python/` processes the arguments. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "methods.h"
#include "objects.h"

/* ---- types ------------------------------------------------------------------------------------------------------- */

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
    {"gather", (PyCFunction)plane_gather, METH_VARARGS, "(rows, edges, nodes, columns) -> node of each row, nodes, edges"},
    {"path", (PyCFunction)plane_path, METH_VARARGS, "(forward, event, since, columns) -> pieces, stretches, rivals"},
    {"level", (PyCFunction)(void (*)(void))plane_level, METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
     "(labels, ts) -> a Level of this plane"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot plane_slots[] = {
    {Py_tp_new, plane_new}, {Py_tp_dealloc, plane_dealloc}, {Py_tp_methods, plane_methods}, {0, NULL}};
static PyType_Spec plane_spec = {"clew.graph.kernel._structure.Plane", sizeof(PlaneObject), 0, Py_TPFLAGS_DEFAULT, plane_slots};

/* ---- functions --------------------------------------------------------------------------------------------------- */

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
    {"times_ascend", kernel_times_ascend, METH_VARARGS, "(…, ts) -> do times never go back inside a region, along an edge"},
    {"dominators", kernel_dominators, METH_VARARGS,
     "(nodes, source, target, entries) -> immediate dominator of each, those reached, who dominates before who is dominated"},
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
    PyModuleDef_HEAD_INIT,
    "clew.graph.kernel._structure",
    NULL,
    sizeof(Module),
    kernel_methods,
    kernel_slots,
    kernel_traverse,
    kernel_clear,
    NULL,
};

PyMODINIT_FUNC PyInit__structure(void) { return PyModuleDef_Init(&kernel_module); }
