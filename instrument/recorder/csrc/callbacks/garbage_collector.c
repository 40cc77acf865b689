#include "callbacks/garbage_collector.h"

#include <stdbool.h>
#include <stdint.h>

#include "hooks/operands.h"
#include "store/sampling.h"
#include "store/store.h"
#include "trace_format.h"

static struct {
    PyObject *callbacks, *begins, *ends; /* Owned: `gc.callbacks`, and our two functions in there */
    uint64_t site;
    uint32_t channel;
} collector;

static __thread bool collecting, collection_told; /* the collector runs in this thread; the trace has its scope */
static __thread bool collecting_alone;            /* `gc.callbacks` has no others than clew's */

void collection_seen(void) {
    collection_told = true;
    put_keyed(keyed_word(KIND_SCOPE_BEGIN, collector.site), 0, collector.channel, 0);
}

/* Are `phase` and `info` those of a callback of this phase? */
static bool is_phase(PyObject *arguments, const char *wanted) {
    PyObject *phase = PyTuple_GET_SIZE(arguments) ? PyTuple_GET_ITEM(arguments, 0) : NULL;
    return phase && PyUnicode_Check(phase) && !PyUnicode_CompareWithASCIIString(phase, wanted);
}

/* Is our other function the last one, behind those that the program added? It is put there when there are any. */
static bool collector_is_last(void) {
    Py_ssize_t count = PyList_GET_SIZE(collector.callbacks);
    if (count && PyList_GET_ITEM(collector.callbacks, count - 1) == collector.ends) return true;
    for (Py_ssize_t i = 0; i < count; i++)
        if (PyList_GET_ITEM(collector.callbacks, i) == collector.ends && PyList_SetSlice(collector.callbacks, i, i + 1, NULL))
            return false;
    return !PyList_Append(collector.callbacks, collector.ends);
}

static void collection_over(void) {
    collecting = false;
    if (self.withheld) {
        self.withheld = false;
        self.end = self.withheld_end;
    } else if (collection_told) {
        put_keyed(keyed_word(KIND_SCOPE_END, collector.site), 0, collector.channel, 0);
    }
}

static PyObject *core_collection_begins(PyObject *module, PyObject *arguments) {
    if (collecting && (collecting_alone || is_phase(arguments, "start"))) collection_over();
    if (store.active && !is_watched(&self.flow) && is_phase(arguments, "start")) {
        collecting_alone = PyList_GET_SIZE(collector.callbacks) == 1;
        if (collecting_alone || collector_is_last()) {
            collecting = true;
            collection_told = false;
            self.withheld = true;
            self.withheld_end = self.end;
            self.end = self.cur;
        }
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *core_collection_ends(PyObject *module, PyObject *arguments) {
    if (collecting && is_phase(arguments, "stop")) collection_over();
    Py_RETURN_NONE;
}

PyObject *core_collecting(PyObject *module, PyObject *ignored) { return PyBool_FromLong(collecting); }

static PyMethodDef collector_methods[] = {
    {"collection_begins", core_collection_begins, METH_VARARGS, "Marks what the garbage collector runs."},
    {"collection_ends", core_collection_ends, METH_VARARGS, "Marks what the garbage collector runs."},
};

PyObject *core_watch_collector(PyObject *module, PyObject *arguments) {
    PyObject *callbacks;
    unsigned int site, channel;
    if (!PyArg_ParseTuple(arguments, "O!II:watch_collector", &PyList_Type, &callbacks, &site, &channel)) return NULL;
    if (collector.callbacks) Py_RETURN_NONE;
    collector.begins = PyCFunction_New(&collector_methods[0], NULL);
    collector.ends = PyCFunction_New(&collector_methods[1], NULL);
    if (!collector.begins || !collector.ends) return NULL;
    collector.site = site;
    collector.channel = channel;
    collector.callbacks = Py_NewRef(callbacks);
    if (PyList_Insert(callbacks, 0, collector.begins)) return NULL;
    Py_RETURN_NONE;
}
