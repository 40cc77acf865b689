/* clew.compare.patterns._sequitur: repetitions in a sequence, on arrays that the caller holds; see
 * compare/patterns/_sequitur.pyi.
 *
 * Invariants: the size of every array is checked before it is traversed; the GIL is not held meanwhile. Each
 * function returns the same result as its oracle in tests/oracles. */
#include "activations.h"
#include "buffers.h"
#include "numbering.h"
#include "shapes.h"

static PyObject *infer(PyObject *module, PyObject *array) {
    Buffers buffers = {.count = 0};
    Grammar grammar = {0};
    Numbered to = {0};
    PyObject *result = NULL;
    const int32_t *sequence = take(&buffers, array, 4, 0, false, "sequence");
    if (!sequence) goto done;
    int64_t count = items(&buffers, 0, 4);
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
    release_buffers(&buffers);
    return result;
}

static PyObject *activations(PyObject *module, PyObject *args) {
    PyObject *given[4];
    long long start;
    int wide;
    if (!PyArg_ParseTuple(args, "LOOpOO", &start, given, given + 1, &wide, given + 2, given + 3)) return NULL;
    Buffers buffers = {.count = 0};
    Activations to = {0};
    PyObject *result = NULL;
    const uint8_t *kind = take(&buffers, given[0], 1, 0, false, "kind");
    if (!kind) goto done;
    int64_t rows = items(&buffers, 0, 1), most = 0;
    const void *call = take(&buffers, given[1], wide ? 8 : 4, rows, false, "call");
    if (!call) goto done;
    const int64_t *ts = take(&buffers, given[2], 8, rows, false, "ts");
    if (!ts) goto done;
    const uint8_t *idle = take(&buffers, given[3], 1, rows, false, "idle");
    if (!idle) goto done;
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
    release_buffers(&buffers);
    return result;
}

static PyObject *shapes(PyObject *module, PyObject *args) {
    PyObject *given[2];
    if (!PyArg_ParseTuple(args, "OO", given, given + 1)) return NULL;
    Buffers buffers = {.count = 0};
    Shapes to = {0};
    PyObject *result = NULL;
    const int32_t *what = take(&buffers, given[0], 4, 0, false, "what");
    if (!what) goto done;
    int64_t nodes = items(&buffers, 0, 4);
    const int32_t *size = take(&buffers, given[1], 4, nodes, false, "size");
    if (!size) goto done;
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
    release_buffers(&buffers);
    return result;
}

static PyMethodDef methods[] = {
    {"infer", infer, METH_O, NULL},
    {"activations", activations, METH_VARARGS, NULL},
    {"shapes", shapes, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "clew.compare.patterns._sequitur", .m_methods = methods};

PyMODINIT_FUNC PyInit__sequitur(void) { return PyModuleDef_Init(&definition); }
