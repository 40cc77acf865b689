/* What functions of Python get: arrays by the buffer protocol, and whether what is in them leads astray.
 *
 * Invariant: each check that fails has set an exception. */
#ifndef CLEW_ARGUMENTS_H
#define CLEW_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "nesting.h"

enum { MOST_BUFFERS = 16 };

typedef struct {
    Py_buffer held[MOST_BUFFERS];
    int count;
} Buffers;

static void let_go(Buffers *buffers) {
    while (buffers->count) PyBuffer_Release(buffers->held + --buffers->count);
}

/* Items of `width` bytes, at least `least` of them; NULL and an exception otherwise. */
static void *take(Buffers *buffers, PyObject *array, size_t width, int64_t least, bool writable, const char *name) {
    Py_buffer *buffer = buffers->held + buffers->count;
    if (PyObject_GetBuffer(array, buffer, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0) return NULL;
    buffers->count++;
    bool fits = least >= 0 && (uint64_t)buffer->len / width >= (uint64_t)least && (size_t)buffer->len % width == 0;
    if (fits && (uintptr_t)buffer->buf % width == 0) return buffer->buf;
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes where %lld items of %zu are needed", name, buffer->len, (long long)least,
                 width);
    return NULL;
}

static int64_t items(const Buffers *buffers, int number, size_t width) {
    return (int64_t)((size_t)buffers->held[number].len / width);
}

/* Do strands begin and end within `events` rows, one after the other? */
static bool bounds_fit(const int64_t *start, int64_t strands, int64_t events) {
    bool fit = strands >= 0 && start[0] == 0 && start[strands] == events;
    for (int64_t at = 0; fit && at < strands; at++) fit = start[at] <= start[at + 1];
    if (!fit) PyErr_SetString(PyExc_ValueError, "strands that do not follow each other");
    return fit;
}

/* Are all of `count` numbers -1 or below `end`? */
static bool rows_fit(const void *rows, bool wide, int64_t count, int64_t end) {
    bool fit = true;
    for (int64_t at = 0; at < count; at++) {
        int64_t row = get_row(rows, wide, at);
        fit &= row >= -1 && row < end;
    }
    if (!fit) PyErr_SetString(PyExc_ValueError, "a row that is not there");
    return fit;
}

/* Are calls sorted by the rows that opened them, and these and those of their ends there? */
static bool calls_fit(const int64_t *enter, const int64_t *exit, int64_t calls, int64_t events) {
    bool fit = true;
    for (int64_t at = 0; at < calls; at++) fit &= enter[at] >= (at ? enter[at - 1] + 1 : 0);
    if (!fit) PyErr_SetString(PyExc_ValueError, "calls that are not in order");
    return fit && rows_fit(enter, true, calls, events) && rows_fit(exit, true, calls, events);
}

static PyObject *bytes_of(const void *data, size_t size) { return PyBytes_FromStringAndSize(data, (Py_ssize_t)size); }

#endif
