/* dominators, for any graph of numbered nodes. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "arguments.h"
#include "dominators.h"
#include "methods.h"
#include "objects.h"

static bool nodes_fit(const Py_buffer *nodes, size_t length, uint32_t count, const char *name) {
    if (!has(nodes, length, 4, name)) return false;
    for (size_t i = 0; i < length; i++)
        if (((uint32_t *)nodes->buf)[i] >= count) {
            PyErr_Format(PyExc_ValueError, "%s: no such node", name);
            return false;
        }
    return true;
}

PyObject *kernel_dominators(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned int count;
    Py_buffer source, target, entries;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "Iy*y*y*", &count, &source, &target, &entries)) return NULL;
    size_t edges = (size_t)source.len / 4, entry_count = (size_t)entries.len / 4;
    PyObject *above = bytes_of(NULL, (size_t)count * 4);
    if (above && nodes_fit(&source, edges, count, "source") && nodes_fit(&target, edges, count, "target") &&
        nodes_fit(&entries, entry_count, count, "entries")) {
        Ways onward = {count, edges, source.buf, target.buf, NULL, NULL}, comes = onward;
        Dominated d = {(uint32_t *)PyBytes_AS_STRING(above), malloc(((size_t)count + 1) * 4), 0};
        bool done;
        Py_BEGIN_ALLOW_THREADS
        done = d.reached && ways_make(&onward, true) && ways_make(&comes, false) &&
               dominators_find(&onward, &comes, entries.buf, entry_count, &d);
        Py_END_ALLOW_THREADS
        if (done) result = Py_BuildValue("ON", above, bytes_of(d.reached, d.reached_count * 4));
        else PyErr_NoMemory();
        ways_free(&onward);
        ways_free(&comes);
        free(d.reached);
    }
    Py_XDECREF(above);
    PyBuffer_Release(&source);
    PyBuffer_Release(&target);
    PyBuffer_Release(&entries);
    return result;
}
