/* Arrays that Python functions receive through the buffer protocol, and bytes that they return.
 *
 * Invariant: each check that fails has always set an exception. */
#ifndef CLEW_BUFFERS_H
#define CLEW_BUFFERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST_BUFFERS = 16 };

typedef struct {
    Py_buffer held[MOST_BUFFERS];
    int count;
} Buffers;

static void release_buffers(Buffers *buffers) {
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

static PyObject *bytes_of(const void *data, size_t size) { return PyBytes_FromStringAndSize(data, (Py_ssize_t)size); }

#endif
