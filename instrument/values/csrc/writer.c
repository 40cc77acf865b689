#include "writer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_WORDS (1 << 18)
#define MOST_ELEMENTS 64
#define LONGEST_RECORD (2 * MOST_ELEMENTS + 16)

Writer writer;

int writer_open(int fd, PyTypeObject *deque, uint64_t most_bytes) {
    memset(&writer, 0, sizeof writer);
    writer.words = PyMem_RawMalloc((BUFFER_WORDS + LONGEST_RECORD) * sizeof *writer.words);
    if (writer.words == NULL || objects_open(&writer.objects) < 0) {
        PyMem_RawFree(writer.words);
        writer.words = NULL;
        return -1;
    }
    writer.fd = fd;
    writer.deque = (PyTypeObject *)Py_NewRef((PyObject *)deque);
    writer.most_bytes = most_bytes;
    return 0;
}

void writer_close(void) {
    PyMem_RawFree(writer.words);
    writer.words = NULL;
    Py_CLEAR(writer.deque);
    objects_close(&writer.objects);
}

int cut(enum Reason reason) {
    if (writer.reason == 0) writer.reason = reason;
    return -1;
}

int flush_words(void) {
    const char *at = (const char *)writer.words;
    size_t left = writer.used * sizeof *writer.words;
    writer.written += left;
    while (left) {
        ssize_t done = write(writer.fd, at, left);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return cut(DISK);
        at += done;
        left -= (size_t)done;
    }
    writer.used = 0;
    return writer.written > writer.most_bytes ? cut(MEMORY) : 0;
}

int begin_record(enum Kind kind, size_t count) {
    if (writer.used + count + 1 > BUFFER_WORDS && flush_words() < 0) return -1;
    writer.words[writer.used++] = (int32_t)(kind | count << 8);
    return 0;
}

void put(int32_t word) { writer.words[writer.used++] = word; }

static Py_ssize_t length_of(PyObject *object) {
    if (PyList_Check(object) || PyTuple_Check(object)) return Py_SIZE(object);
    if (PyDict_Check(object)) return PyDict_GET_SIZE(object);
    if (PyAnySet_Check(object)) return PySet_GET_SIZE(object);
    if (Py_IS_TYPE(object, writer.deque)) return Py_SIZE(object);
    return -1;
}

static int write_contents(int32_t number, PyObject *object, Py_ssize_t length) {
    int32_t found[2 * MOST_ELEMENTS];
    size_t count = 0;
    if (PyDict_Check(object)) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (count < MOST_ELEMENTS && PyDict_Next(object, &at, &key, &value)) {
            found[count++] = number_of(key);
            found[count++] = number_of(value);
        }
    } else if (PyList_Check(object) || PyTuple_Check(object)) {
        PyObject **items = PySequence_Fast_ITEMS(object);
        while (count < MOST_ELEMENTS && (Py_ssize_t)count < Py_SIZE(object)) {
            found[count] = number_of(items[count]);
            count++;
        }
    } else if (PyAnySet_CheckExact(object) || Py_IS_TYPE(object, writer.deque)) {
        PyObject *copy = PySequence_List(object);
        if (copy == NULL) {
            PyErr_Clear();
            return 0;
        }
        while (count < MOST_ELEMENTS && (Py_ssize_t)count < PyList_GET_SIZE(copy)) {
            found[count] = number_of(PyList_GET_ITEM(copy, (Py_ssize_t)count));
            count++;
        }
        Py_DECREF(copy);
    }
    if (begin_record(CONTENTS, count + 2) < 0) return -1;
    put(number);
    put((int32_t)length);
    for (size_t i = 0; i < count; i++) put(found[i]);
    return 0;
}

int32_t number_of(PyObject *object) {
    int is_new;
    int32_t number = object_number(&writer.objects, object, &is_new);
    if (number < 0) {
        if (number == -2) cut(MEMORY);
        return number;
    }
    Py_ssize_t length = length_of(object);
    if (length < 0 || writer.objects.lengths[number] == (int32_t)length) return number;
    writer.objects.lengths[number] = (int32_t)length;
    if (is_new) write_contents(number, object, length);
    else if (begin_record(LENGTH, 2) == 0) {
        put(number);
        put((int32_t)length);
    }
    return number;
}
