#include "arguments.h"

Arguments arguments_of(PyObject *const *given, Py_ssize_t count, Py_ssize_t expected) {
    Arguments in = {.given = given, .failed = count != expected};
    if (in.failed) PyErr_Format(PyExc_TypeError, "function takes exactly %zd arguments (%zd given)", expected, count);
    return in;
}

void release_arguments(Arguments *in) {
    while (in->taken) PyBuffer_Release(in->held + --in->taken);
}

static void *take(Arguments *in, int number, size_t width, int64_t least, int flags, const char *name) {
    Py_buffer *buffer = in->held + in->taken;
    if (in->failed) return NULL;
    in->failed = PyObject_GetBuffer(in->given[number], buffer, flags) < 0;
    if (in->failed) return NULL;
    in->taken++;
    size_t length = (size_t)buffer->len;
    bool fits = least >= 0 && length / width >= (uint64_t)least && length % width == 0;
    in->failed = !fits || (uintptr_t)buffer->buf % width != 0;
    if (!in->failed) {
        in->length[number] = length;
        return buffer->buf;
    }
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes where %lld items of %zu are needed", name, buffer->len, (long long)least,
                 width);
    return NULL;
}

void *read_array(Arguments *in, int number, size_t width, int64_t least, const char *name) {
    return take(in, number, width, least, PyBUF_SIMPLE, name);
}

void *write_array(Arguments *in, int number, size_t width, int64_t least, const char *name) {
    return take(in, number, width, least, PyBUF_WRITABLE, name);
}

int64_t items(const Arguments *in, int number, size_t width) { return (int64_t)(in->length[number] / width); }

int64_t read_number(Arguments *in, int number, int64_t low, int64_t high) {
    if (in->failed) return 0;
    long long value = PyLong_AsLongLong(in->given[number]);
    in->failed = value == -1 && PyErr_Occurred();
    if (!in->failed && (value < low || value > high)) {
        in->failed = true;
        PyErr_Format(PyExc_OverflowError, "argument %d: %lld is not from %lld to %lld", number + 1, value, (long long)low,
                     (long long)high);
    }
    return in->failed ? 0 : value;
}

double read_real(Arguments *in, int number) {
    if (in->failed) return 0;
    double value = PyFloat_AsDouble(in->given[number]);
    in->failed = value == -1 && PyErr_Occurred();
    return in->failed ? 0 : value;
}

bool read_flag(Arguments *in, int number) {
    if (in->failed) return false;
    int value = PyObject_IsTrue(in->given[number]);
    in->failed = value < 0;
    return value > 0;
}

PyObject *bytes_of(const void *data, size_t size) { return PyBytes_FromStringAndSize(data, (Py_ssize_t)size); }
