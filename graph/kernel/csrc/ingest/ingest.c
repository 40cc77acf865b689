/* clew.graph.kernel._ingest: the kernels that build a graph from records, on arrays that the caller holds; see
 * graph/kernel/_ingest.pyi.
 *
 * Arrays arrive through the buffer protocol, and results of known size go into the caller's arrays, which may be
 * files. Invariants: the size of every array is checked before it is traversed, and every row, site and extension is
 * checked before it is followed; the GIL is not held meanwhile. Each function returns the same result as its oracle
 * in tests/oracles. */
#include "arguments.h"
#include "durations.h"
#include "flows.h"
#include "joining.h"
#include "nesting.h"
#include "retiming.h"
#include "rows.h"
#include "scopes.h"

static PyObject *nest(PyObject *module, PyObject *args) {
    PyObject *given[9];
    int wide;
    if (!PyArg_ParseTuple(args, "OOOpOOOOOO", given, given + 1, given + 2, &wide, given + 3, given + 4, given + 5, given + 6,
                          given + 7, given + 8))
        return NULL;
    Buffers buffers = {.count = 0};
    Nested to = {.wide = wide, .thrown = thrown_here()};
    size_t width = wide ? 8 : 4, sites = 1;
    PyObject *result = NULL;
    const uint8_t *kind = take(&buffers, given[0], 1, 0, false, "kind");
    if (!kind) goto done;
    int64_t events = items(&buffers, 0, 1), begun = 0, slept = 0;
    const uint32_t *site = take(&buffers, given[1], 4, events, false, "site");
    if (!site) goto done;
    const int64_t *start = take(&buffers, given[2], 8, 1, false, "strand_start");
    if (!start) goto done;
    int64_t strands = items(&buffers, 2, 8) - 1;
    if (!bounds_fit(start, strands, events)) goto done;
    for (int64_t row = 0; row < events; row++) {
        begun += kind[row] == KIND_ENTER || kind[row] == KIND_RESUME;
        slept += kind[row] == KIND_SUSPEND;
        if (site[row] >= sites) sites = (size_t)site[row] + 1;
    }
    if (!(to.call = take(&buffers, given[3], width, events, true, "call"))) goto done;
    if (!(to.inner = take(&buffers, given[4], width, events, true, "inner"))) goto done;
    if (!(to.enter = take(&buffers, given[5], 8, begun, true, "enter"))) goto done;
    if (!(to.exit = take(&buffers, given[6], 8, begun, true, "exit"))) goto done;
    if (!(to.caller = take(&buffers, given[7], 8, begun, true, "caller"))) goto done;
    if (!(to.pauses = take(&buffers, given[8], 8, slept * 2, true, "pauses"))) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = nest_all(kind, site, sites, start, strands, &to);
    Py_END_ALLOW_THREADS
    if (ok) result = Py_BuildValue("LLL", (long long)to.calls, (long long)to.paused, (long long)to.unmatched);
    else result = to.cancelled ? raise_cancelled() : PyErr_NoMemory();
done:
    release_buffers(&buffers);
    return result;
}

static PyObject *columns_of(const Split *split) {
    size_t count = split->made;
    uint32_t *strand = malloc(count * 4 + 1);
    uint8_t *kind = malloc(count + 1);
    int64_t *rows = malloc(count * 32 + 1);
    PyObject *result = NULL;
    if (strand && kind && rows) {
        for (size_t at = 0; at < count; at++) {
            const Region *region = split->regions + at;
            strand[at] = region->strand;
            kind[at] = (uint8_t)region->kind;
            rows[at] = region->opener;
            rows[count + at] = region->first;
            rows[2 * count + at] = region->last;
            rows[3 * count + at] = region->parent;
        }
        result = Py_BuildValue("NNNNNN", bytes_of(strand, count * 4), bytes_of(kind, count), bytes_of(rows, count * 8),
                               bytes_of(rows + count, count * 8), bytes_of(rows + 2 * count, count * 8),
                               bytes_of(rows + 3 * count, count * 8));
    } else PyErr_NoMemory();
    free(strand);
    free(kind);
    free(rows);
    return result;
}

static PyObject *split_regions(PyObject *module, PyObject *args) {
    PyObject *given[9];
    int wide, of_root, of_receive, of_scope, of_request;
    if (!PyArg_ParseTuple(args, "(iiii)OOOpOOOOOO", &of_root, &of_receive, &of_scope, &of_request, given, given + 1, given + 2,
                          &wide, given + 3, given + 4, given + 5, given + 6, given + 7, given + 8))
        return NULL;
    Buffers buffers = {.count = 0};
    Split split = {.wide = wide,
                   .of_root = (uint8_t)of_root,
                   .of_receive = (uint8_t)of_receive,
                   .of_scope = (uint8_t)of_scope,
                   .of_request = (uint8_t)of_request};
    PyObject *result = NULL;
    if (!(split.kind = take(&buffers, given[0], 1, 0, false, "kind"))) goto done;
    int64_t events = items(&buffers, 0, 1);
    const int32_t *ext = take(&buffers, given[1], 4, events, false, "ext");
    if (!ext) goto done;
    const uint32_t *channel = take(&buffers, given[2], 4, 0, false, "channel");
    if (!channel || !rows_fit(ext, false, events, items(&buffers, 2, 4))) goto done;
    if (!(split.call = take(&buffers, given[3], wide ? 8 : 4, events, false, "call"))) goto done;
    const int64_t *enter = take(&buffers, given[4], 8, 0, false, "enter");
    if (!enter) goto done;
    int64_t calls = items(&buffers, 4, 8);
    if (!(split.exit = take(&buffers, given[5], 8, calls, false, "exit"))) goto done;
    const int64_t *caller = take(&buffers, given[6], 8, calls, false, "caller");
    if (!caller || !calls_fit(enter, split.exit, calls, events)) goto done;
    finder_make(&split.finder, enter, calls);
    if (!(split.caller = malloc((size_t)calls * 8 + 1))) {
        PyErr_NoMemory();
        goto done;
    }
    for (int64_t at = 0; at < calls; at++) {
        split.caller[at] = caller[at] < 0 ? -1 : find_call(&split.finder, caller[at]);
        if (split.caller[at] < at) continue;
        PyErr_SetString(PyExc_ValueError, "a call that is made before its caller");
        goto done;
    }
    const int64_t *start = take(&buffers, given[7], 8, 1, false, "strand_start");
    if (!start) goto done;
    int64_t strands = items(&buffers, 7, 8) - 1;
    if (!bounds_fit(start, strands, events) || !rows_fit(split.call, wide, events, calls ? events : 0)) goto done;
    uint32_t *region = take(&buffers, given[8], 4, events, true, "region");
    if (!region) goto done;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t strand = 0; strand < strands && !split.failed; strand++) {
        split.strand = (uint32_t)strand;
        split.start = start[strand];
        split.stop = start[strand + 1];
        split_strand(&split, channel, ext);
    }
    for (size_t at = 0; at < split.changed && !split.failed; at++) {
        int64_t row = split.changes[at].row, stop = at + 1 < split.changed ? split.changes[at + 1].row : events;
        Region *of = split.regions + split.changes[at].region;
        if (row >= stop) continue;
        if (of->first < 0) of->first = row;
        of->last = stop - 1;
        for (; row < stop; row++) region[row] = split.changes[at].region;
    }
    Py_END_ALLOW_THREADS
    result = split.failed ? PyErr_NoMemory() : columns_of(&split);
done:
    split_free(&split);
    release_buffers(&buffers);
    return result;
}

static PyObject *durations(PyObject *module, PyObject *args) {
    PyObject *given[11];
    int wide;
    if (!PyArg_ParseTuple(args, "OOpOOOOOOOOO", given, given + 1, &wide, given + 2, given + 3, given + 4, given + 5, given + 6,
                          given + 7, given + 8, given + 9, given + 10))
        return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    size_t width = wide ? 8 : 4;
    Finder finder;
    const void *call = take(&buffers, given[0], width, 0, false, "call");
    if (!call) goto done;
    int64_t events = items(&buffers, 0, width);
    const void *inner = take(&buffers, given[1], width, events, false, "inner");
    if (!inner) goto done;
    const int64_t *enter = take(&buffers, given[2], 8, 0, false, "enter");
    if (!enter) goto done;
    int64_t calls = items(&buffers, 2, 8);
    const int64_t *exit_ = take(&buffers, given[3], 8, calls, false, "exit");
    if (!exit_) goto done;
    const int64_t *ts = take(&buffers, given[4], 8, events, false, "ts");
    if (!ts) goto done;
    const uint8_t *idle = take(&buffers, given[5], 1, events, false, "idle");
    if (!idle) goto done;
    const int64_t *start = take(&buffers, given[6], 8, 1, false, "strand_start");
    if (!start) goto done;
    int64_t strands = items(&buffers, 6, 8) - 1;
    const int64_t *pauses = take(&buffers, given[7], 8, 0, false, "pauses");
    if (!pauses) goto done;
    int64_t paused = items(&buffers, 7, 8) / 2, end = calls ? events : 0;
    int64_t *total = take(&buffers, given[8], 8, calls, true, "total");
    if (!total) goto done;
    int64_t *self = take(&buffers, given[9], 8, calls, true, "self");
    if (!self) goto done;
    int64_t *waiting = take(&buffers, given[10], 8, calls, true, "waiting");
    if (!waiting || !bounds_fit(start, strands, events)) goto done;
    if (!rows_fit(call, wide, events, end) || !rows_fit(inner, wide, events, end)) goto done;
    if (!calls_fit(enter, exit_, calls, events)) goto done;
    for (int64_t at = 0; at < paused; at++) {
        int64_t begin = pauses[2 * at], over = pauses[2 * at + 1];
        if (begin < 0 || begin >= events || over < 0 || over >= events || get_row(call, wide, begin) < 0) {
            PyErr_SetString(PyExc_ValueError, "a pause of no call");
            goto done;
        }
    }
    bool wanted;
    Thrown thrown = thrown_here();
    Py_BEGIN_ALLOW_THREADS
    finder_make(&finder, enter, calls);
    wanted = book(&finder, call, inner, wide, exit_, ts, idle, start, strands, pauses, paused, total, self, waiting, thrown);
    Py_END_ALLOW_THREADS
    result = wanted ? Py_NewRef(Py_None) : raise_cancelled();
done:
    release_buffers(&buffers);
    return result;
}

static PyObject *idle(PyObject *module, PyObject *args) {
    PyObject *given[6];
    int wide;
    if (!PyArg_ParseTuple(args, "OOOpOOO", given, given + 1, given + 2, &wide, given + 3, given + 4, given + 5)) return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    const uint8_t *kind = take(&buffers, given[0], 1, 0, false, "kind");
    if (!kind) goto done;
    int64_t events = items(&buffers, 0, 1);
    const uint32_t *site = take(&buffers, given[1], 4, events, false, "site");
    if (!site) goto done;
    const void *sequence = take(&buffers, given[2], wide ? 8 : 4, events, false, "sequence");
    if (!sequence) goto done;
    const int64_t *start = take(&buffers, given[3], 8, 1, false, "strand_start");
    if (!start) goto done;
    int64_t strands = items(&buffers, 3, 8) - 1;
    const uint8_t *by_loop = take(&buffers, given[4], 1, 0, false, "by_loop");
    if (!by_loop) goto done;
    uint8_t *mask = take(&buffers, given[5], 1, events, true, "idle");
    if (!mask || !bounds_fit(start, strands, events)) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = find_idle(kind, site, sequence, wide, start, strands, by_loop, items(&buffers, 4, 1), mask);
    Py_END_ALLOW_THREADS
    if (ok) result = Py_NewRef(Py_None);
    else PyErr_SetString(PyExc_ValueError, "a site that is not there");
done:
    release_buffers(&buffers);
    return result;
}

static PyObject *flows(PyObject *module, PyObject *args) {
    PyObject *given[7];
    int coalesce;
    if (!PyArg_ParseTuple(args, "OOOOOpOO", given, given + 1, given + 2, given + 3, given + 4, &coalesce, given + 5, given + 6))
        return NULL;
    Buffers buffers = {.count = 0};
    Flows of = {.coalesce = coalesce};
    PyObject *result = NULL;
    if (!(of.parent = take(&buffers, given[0], 4, 0, false, "parent"))) goto done;
    of.frames = items(&buffers, 0, 4);
    if (!(of.label = take(&buffers, given[1], 4, of.frames, false, "label"))) goto done;
    if (!(of.begin = take(&buffers, given[2], 8, of.frames, false, "begin"))) goto done;
    if (!(of.name = take(&buffers, given[3], 8, 0, false, "name"))) goto done;
    const int32_t *roots = take(&buffers, given[4], 4, 0, false, "roots");
    if (!roots) goto done;
    int64_t names = items(&buffers, 3, 8), count = items(&buffers, 4, 4);
    int64_t *first = take(&buffers, given[5], 8, count + 1, true, "first");
    if (!first) goto done;
    uint64_t *shape = take(&buffers, given[6], 8, count, true, "shape");
    if (!shape) goto done;
    bool fit = true;
    for (int64_t at = 0; at < of.frames; at++)
        fit &= of.parent[at] >= LEFT_OUT && of.parent[at] < of.frames && of.label[at] >= 0 && of.label[at] < names;
    for (int64_t at = 0; at < count; at++) fit &= roots[at] >= 0 && roots[at] < of.frames;
    if (!fit) {
        PyErr_SetString(PyExc_ValueError, "a frame or label that is not there");
        goto done;
    }
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = flows_order(&of, roots, count, first, shape);
    Py_END_ALLOW_THREADS
    if (ok)
        result =
            Py_BuildValue("NNNN", bytes_of(of.frame.items, of.frame.count * 4), bytes_of(of.above.items, of.above.count * 4),
                          bytes_of(of.more.items, of.more.count * 4), bytes_of(of.where.items, of.where.count * 8));
    else if (of.circle) PyErr_SetString(PyExc_ValueError, "frames that are below themselves");
    else PyErr_NoMemory();
done:
    flows_free(&of);
    release_buffers(&buffers);
    return result;
}

static PyObject *retime(PyObject *module, PyObject *args) {
    PyObject *given[7];
    Retiming of;
    if (!PyArg_ParseTuple(args, "OOOOOOdO", given, given + 1, given + 2, given + 3, given + 4, given + 5, &of.rate, given + 6))
        return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    if (!(of.order = take(&buffers, given[0], 8, 0, false, "order"))) goto done;
    int64_t joins = items(&buffers, 0, 8);
    if (!(of.first = take(&buffers, given[1], 8, joins + 1, false, "first"))) goto done;
    if (!(of.other = take(&buffers, given[2], 8, 0, false, "other"))) goto done;
    int64_t causes = items(&buffers, 2, 8);
    if (!(of.time = take(&buffers, given[3], 8, causes, false, "time"))) goto done;
    if (!(of.done = take(&buffers, given[4], 8, causes, false, "done"))) goto done;
    if (!(of.gap = take(&buffers, given[5], 8, causes, false, "gap"))) goto done;
    double *saved = take(&buffers, given[6], 8, joins, true, "saved");
    if (!saved || !bounds_fit(of.first, joins, causes)) goto done;
    if (!rows_fit(of.other, true, causes, joins) || !rows_fit(of.order, true, joins, joins)) goto done;
    bool fit = true;
    for (int64_t at = 0; at < joins; at++) fit &= of.order[at] >= 0;
    if (!fit) {
        PyErr_SetString(PyExc_ValueError, "an order of joins that are not there");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    retime_all(&of, joins, saved);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release_buffers(&buffers);
    return result;
}

static PyMethodDef methods[] = {
    {"fill", fill, METH_VARARGS, NULL},
    {"steps", steps, METH_VARARGS, NULL},
    {"nanoseconds", nanoseconds, METH_VARARGS, NULL},
    {"tally", tally_strands, METH_VARARGS, NULL},
    {"place", place_records, METH_VARARGS, NULL},
    {"nest", nest, METH_VARARGS, NULL},
    {"split", split_regions, METH_VARARGS, NULL},
    {"pair", pair_events, METH_VARARGS, NULL},
    {"durations", durations, METH_VARARGS, NULL},
    {"idle", idle, METH_VARARGS, NULL},
    {"waits", waits, METH_VARARGS, NULL},
    {"flows", flows, METH_VARARGS, NULL},
    {"edges", arrange_edges, METH_VARARGS, NULL},
    {"retime", retime, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "clew.graph.kernel._ingest", .m_methods = methods};

PyMODINIT_FUNC PyInit__ingest(void) { return PyModuleDef_Init(&definition); }
