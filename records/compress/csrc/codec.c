/* The codec: splits a chunk's data into streams of similar bytes, joins them, and finds the end of a chunk's
 * records.
 *
 * Invariant: for any input of a join, accesses stay inside the buffers. Input that `split` never returned raises
 * ValueError or returns arbitrary data. Numbers are little-endian on every machine. docs/trace-format.md shows the
 * streams. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "join.h"
#include "scratch.h"
#include "split.h"
#include "trace_format.h"

static PyObject *find_end(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_buffer data, kinds;
    if (given != 2) return PyErr_Format(PyExc_TypeError, "find_end(data, kinds)");
    if (PyObject_GetBuffer(arguments[0], &data, PyBUF_SIMPLE) < 0) return NULL;
    if (PyObject_GetBuffer(arguments[1], &kinds, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&data);
        return NULL;
    }
    bool known[256] = {false};
    for (Py_ssize_t at = 0; at < kinds.len; at++) known[((const uint8_t *)kinds.buf)[at]] = true;
    const uint8_t *bytes = data.buf;
    Py_ssize_t units = data.len / RECORD_SIZE, at = 0;
    char wrong[64] = "";
    while (at < units) {
        const uint8_t *record = bytes + at * RECORD_SIZE;
        if (!load(record, 8)) {
            Py_ssize_t length = units * RECORD_SIZE;
            while (length && !bytes[length - 1]) length--;
            /* Only a record that was being written can follow the end. */
            if (length - at * RECORD_SIZE > 256 * RECORD_SIZE) strcpy(wrong, "an unfinished record in the middle");
            break;
        }
        if (!known[record[8]]) {
            snprintf(wrong, sizeof wrong, "a record of unknown kind %d", record[8]);
            break;
        }
        if (at + 1 + record[9] > units) {
            strcpy(wrong, "a record that reaches beyond its chunk");
            break;
        }
        at += 1 + record[9];
    }
    PyBuffer_Release(&kinds);
    PyBuffer_Release(&data);
    return Py_BuildValue("(ns)", at * RECORD_SIZE, wrong);
}

static PyMethodDef methods[] = {
    {"find_end", (PyCFunction)(void (*)(void))find_end, METH_FASTCALL,
     "find_end(data, kinds): where whole records end, and why"},
    {"split", split, METH_O, "split(data): the streams of a chunk's data"},
    {"join", join, METH_O, "join(streams): the data; ValueError for streams that are of none"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_codec", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__codec(void) { return PyModule_Create(&definition); }
