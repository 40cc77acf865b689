/* clew.compare.patterns._sequitur: repetitions in a sequence, on arrays that the caller holds; see
 * compare/patterns/_sequitur.pyi.
 *
 * Invariants: the size of every array is checked before it is traversed; the GIL is not held meanwhile. Each
 * function returns the same result as its oracle in tests/oracles. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "activations.h"
#include "arguments.h"
#include "grammar.h"
#include "numbering.h"
#include "shapes.h"
#include "trace_format.h"

static PyObject *infer(PyObject *module, PyObject *array) {
    Arguments in = arguments_of(&array, 1, 1);
    Grammar grammar = {0};
    Numbered to = {0};
    PyObject *result = NULL;
    const int32_t *sequence = read_array(&in, 0, 4, 0, "sequence");
    if (in.failed) goto done;
    int64_t count = items(&in, 0, 4);
    bool fit = count <= INT32_MAX;
    for (int64_t at = 0; at < count; at++) fit &= sequence[at] >= 0;
    if (!fit) {
        PyErr_SetString(PyExc_ValueError, "sequence: a symbol below 0, or more of them than can be counted");
        goto done;
    }
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = grammar_of(&grammar, sequence, count) && number_rules(&grammar, &to);
    Py_END_ALLOW_THREADS
    if (ok) {
        size_t rules = (size_t)to.rules, symbols = (size_t)to.symbols;
        result =
            Py_BuildValue("NNNNN", bytes_of(to.first, (rules + 1) * 8), bytes_of(to.symbol, symbols * 4),
                          bytes_of(to.exponent, symbols * 8), bytes_of(to.start, rules * 8), bytes_of(to.length, rules * 8));
    } else PyErr_NoMemory();
done:
    numbered_free(&to);
    grammar_free(&grammar);
    release_arguments(&in);
    return result;
}

static PyObject *activations(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 6);
    int64_t start = read_number(&in, 0, INT64_MIN, INT64_MAX);
    bool wide = read_flag(&in, 3);
    Activations to = {0};
    PyObject *result = NULL;
    const uint8_t *kind = read_array(&in, 1, 1, 0, "kind");
    int64_t rows = items(&in, 1, 1), most = 0;
    const void *call = read_array(&in, 2, wide ? 8 : 4, rows, "call");
    const int64_t *ts = read_array(&in, 4, 8, rows, "ts");
    const uint8_t *idle = read_array(&in, 5, 1, rows, "idle");
    if (in.failed) goto done;
    bool fit = start >= 0;
    for (int64_t at = 0; at < rows; at++) {
        int64_t of = wide ? ((const int64_t *)call)[at] : ((const int32_t *)call)[at];
        bool begins = kind[at] == KIND_ENTER || kind[at] == KIND_RESUME;
        most += begins || kind[at] == KIND_EXIT || kind[at] == KIND_UNWIND || kind[at] == KIND_SUSPEND;
        if (begins) fit &= of >= start && of <= start + at;
        else fit &= of < 0 || (of >= start && of < start + at);
    }
    if (!fit || most > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "call: rows that are not there, or more calls than can be counted");
        goto done;
    }
    bool ok = activations_make(&to, start, rows, most);
    Py_BEGIN_ALLOW_THREADS
    if (ok) walk_strand(&to, rows, kind, call, wide, ts, idle);
    Py_END_ALLOW_THREADS
    size_t count = (size_t)to.count;
    if (ok)
        result = Py_BuildValue("NNNNNN", bytes_of(to.parent, count * 4), bytes_of(to.size, count * 4), bytes_of(to.way, count),
                               bytes_of(to.first, count * 8), bytes_of(to.last, count * 8), bytes_of(to.own, count * 8));
    else PyErr_NoMemory();
done:
    activations_free(&to);
    release_arguments(&in);
    return result;
}

static PyObject *shapes(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 2);
    Shapes to = {0};
    PyObject *result = NULL;
    const int32_t *what = read_array(&in, 0, 4, 0, "what");
    int64_t nodes = items(&in, 0, 4);
    const int32_t *size = read_array(&in, 1, 4, nodes, "size");
    if (in.failed) goto done;
    bool fit = nodes <= INT32_MAX;
    for (int64_t at = 0; fit && at < nodes; at++) fit = size[at] >= 1 && size[at] <= nodes - at;
    if (!fit) {
        PyErr_SetString(PyExc_ValueError, "size: more than is there");
        goto done;
    }
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = shapes_find(&to, what, size, nodes);
    Py_END_ALLOW_THREADS
    if (ok) {
        size_t count = (size_t)to.count;
        result = Py_BuildValue("NNNNN", bytes_of(to.shape, (size_t)nodes * 4), bytes_of(to.place, (size_t)nodes * 8),
                               bytes_of(to.symbol, count * 4), bytes_of(to.first, (count + 1) * 8),
                               bytes_of(to.child, (size_t)to.children * 4));
    } else PyErr_NoMemory();
done:
    shapes_free(&to);
    release_arguments(&in);
    return result;
}

static PyMethodDef methods[] = {
    {"infer", infer, METH_O, NULL},
    TAKES_ARGUMENTS("activations", activations),
    TAKES_ARGUMENTS("shapes", shapes),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "clew.compare.patterns._sequitur", .m_methods = methods};

PyMODINIT_FUNC PyInit__sequitur(void) { return PyModuleDef_Init(&definition); }
