/* clew.graph.kernel._ingest: the kernels that build a graph from records, on arrays that the caller holds; see
 * graph/kernel/_ingest.pyi.
 *
 * Arrays arrive through the buffer protocol, and results of known size go into the caller's arrays, which may be
 * files. Invariants: the size of every array is checked before it is traversed, and every row, site and extension is
 * checked before it is followed; the GIL is not held meanwhile. Each function returns the same result as its oracle
 * in tests/oracles. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "arguments.h"
#include "bounds.h"
#include "cancellation.h"
#include "checks.h"
#include "durations.h"
#include "flows.h"
#include "methods.h"
#include "nesting.h"
#include "retiming.h"
#include "scopes.h"
#include "trace_format.h"

static PyObject *nest(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 10);
    bool wide = read_flag(&in, 3);
    Nested to = {.wide = wide, .thrown = thrown_here()};
    size_t width = wide ? 8 : 4, sites = 1;
    PyObject *result = NULL;
    const uint8_t *kind = read_array(&in, 0, 1, 0, "kind");
    int64_t events = items(&in, 0, 1), begun = 0, slept = 0;
    const uint32_t *site = read_array(&in, 1, 4, events, "site");
    const int64_t *start = read_array(&in, 2, 8, 1, "strand_start");
    int64_t strands = items(&in, 2, 8) - 1;
    if (in.failed || !bounds_fit(start, strands, events)) goto done;
    for (int64_t row = 0; row < events; row++) {
        begun += kind[row] == KIND_ENTER || kind[row] == KIND_RESUME;
        slept += kind[row] == KIND_SUSPEND;
        if (site[row] >= sites) sites = (size_t)site[row] + 1;
    }
    to.call = write_array(&in, 4, width, events, "call");
    to.inner = write_array(&in, 5, width, events, "inner");
    to.enter = write_array(&in, 6, 8, begun, "enter");
    to.exit = write_array(&in, 7, 8, begun, "exit");
    to.caller = write_array(&in, 8, 8, begun, "caller");
    to.pauses = write_array(&in, 9, 8, slept * 2, "pauses");
    if (in.failed) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = nest_all(kind, site, sites, start, strands, &to);
    Py_END_ALLOW_THREADS
    if (ok) result = Py_BuildValue("LLL", (long long)to.calls, (long long)to.paused, (long long)to.unmatched);
    else result = to.cancelled ? raise_cancelled() : PyErr_NoMemory();
done:
    release_arguments(&in);
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

static PyObject *split_regions(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    int of_root, of_receive, of_scope, of_request;
    Arguments in = arguments_of(args, nargs, 11);
    if (in.failed || !PyArg_Parse(args[0], "(iiii)", &of_root, &of_receive, &of_scope, &of_request)) return NULL;
    bool wide = read_flag(&in, 4);
    Split split = {.wide = wide,
                   .of_root = (uint8_t)of_root,
                   .of_receive = (uint8_t)of_receive,
                   .of_scope = (uint8_t)of_scope,
                   .of_request = (uint8_t)of_request};
    PyObject *result = NULL;
    split.kind = read_array(&in, 1, 1, 0, "kind");
    int64_t events = items(&in, 1, 1);
    const int32_t *ext = read_array(&in, 2, 4, events, "ext");
    const uint32_t *channel = read_array(&in, 3, 4, 0, "channel");
    if (in.failed || !rows_fit(ext, false, events, items(&in, 3, 4))) goto done;
    split.call = read_array(&in, 5, wide ? 8 : 4, events, "call");
    const int64_t *enter = read_array(&in, 6, 8, 0, "enter");
    int64_t calls = items(&in, 6, 8);
    split.exit = read_array(&in, 7, 8, calls, "exit");
    const int64_t *caller = read_array(&in, 8, 8, calls, "caller");
    if (in.failed || !calls_fit(enter, split.exit, calls, events)) goto done;
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
    const int64_t *start = read_array(&in, 9, 8, 1, "strand_start");
    int64_t strands = items(&in, 9, 8) - 1;
    if (in.failed || !bounds_fit(start, strands, events) || !rows_fit(split.call, wide, events, calls ? events : 0)) goto done;
    uint32_t *region = write_array(&in, 10, 4, events, "region");
    if (in.failed) goto done;
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
    release_arguments(&in);
    return result;
}

static PyObject *durations(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 12);
    bool wide = read_flag(&in, 2);
    PyObject *result = NULL;
    size_t width = wide ? 8 : 4;
    Finder finder;
    const void *call = read_array(&in, 0, width, 0, "call");
    int64_t events = items(&in, 0, width);
    const void *inner = read_array(&in, 1, width, events, "inner");
    const int64_t *enter = read_array(&in, 3, 8, 0, "enter");
    int64_t calls = items(&in, 3, 8);
    const int64_t *exit_ = read_array(&in, 4, 8, calls, "exit");
    const int64_t *ts = read_array(&in, 5, 8, events, "ts");
    const uint8_t *idle = read_array(&in, 6, 1, events, "idle");
    const int64_t *start = read_array(&in, 7, 8, 1, "strand_start");
    int64_t strands = items(&in, 7, 8) - 1;
    const int64_t *pauses = read_array(&in, 8, 8, 0, "pauses");
    int64_t paused = items(&in, 8, 8) / 2, end = calls ? events : 0;
    int64_t *total = write_array(&in, 9, 8, calls, "total");
    int64_t *self = write_array(&in, 10, 8, calls, "self");
    int64_t *waiting = write_array(&in, 11, 8, calls, "waiting");
    if (in.failed || !bounds_fit(start, strands, events)) goto done;
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
    release_arguments(&in);
    return result;
}

static PyObject *idle(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 7);
    bool wide = read_flag(&in, 3);
    PyObject *result = NULL;
    const uint8_t *kind = read_array(&in, 0, 1, 0, "kind");
    int64_t events = items(&in, 0, 1);
    const uint32_t *site = read_array(&in, 1, 4, events, "site");
    const void *sequence = read_array(&in, 2, wide ? 8 : 4, events, "sequence");
    const int64_t *start = read_array(&in, 4, 8, 1, "strand_start");
    int64_t strands = items(&in, 4, 8) - 1;
    const uint8_t *by_loop = read_array(&in, 5, 1, 0, "by_loop");
    uint8_t *mask = write_array(&in, 6, 1, events, "idle");
    if (in.failed || !bounds_fit(start, strands, events)) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = find_idle(kind, site, sequence, wide, start, strands, by_loop, items(&in, 5, 1), mask);
    Py_END_ALLOW_THREADS
    if (ok) result = Py_NewRef(Py_None);
    else PyErr_SetString(PyExc_ValueError, "a site that is not there");
done:
    release_arguments(&in);
    return result;
}

static PyObject *flows(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 8);
    bool coalesce = read_flag(&in, 5);
    Flows of = {.coalesce = coalesce};
    PyObject *result = NULL;
    of.parent = read_array(&in, 0, 4, 0, "parent");
    of.frames = items(&in, 0, 4);
    of.label = read_array(&in, 1, 4, of.frames, "label");
    of.begin = read_array(&in, 2, 8, of.frames, "begin");
    of.name = read_array(&in, 3, 8, 0, "name");
    const int32_t *roots = read_array(&in, 4, 4, 0, "roots");
    int64_t names = items(&in, 3, 8), count = items(&in, 4, 4);
    int64_t *first = write_array(&in, 6, 8, count + 1, "first");
    uint64_t *shape = write_array(&in, 7, 8, count, "shape");
    if (in.failed) goto done;
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
    release_arguments(&in);
    return result;
}

static PyObject *retime(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Retiming of;
    Arguments in = arguments_of(args, nargs, 8);
    of.rate = read_real(&in, 6);
    PyObject *result = NULL;
    of.order = read_array(&in, 0, 8, 0, "order");
    int64_t joins = items(&in, 0, 8);
    of.first = read_array(&in, 1, 8, joins + 1, "first");
    of.other = read_array(&in, 2, 8, 0, "other");
    int64_t causes = items(&in, 2, 8);
    of.time = read_array(&in, 3, 8, causes, "time");
    of.done = read_array(&in, 4, 8, causes, "done");
    of.gap = read_array(&in, 5, 8, causes, "gap");
    double *saved = write_array(&in, 7, 8, joins, "saved");
    if (in.failed || !bounds_fit(of.first, joins, causes)) goto done;
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
    release_arguments(&in);
    return result;
}

static PyMethodDef methods[] = {
    TAKES_ARGUMENTS("fill", fill),
    TAKES_ARGUMENTS("steps", steps),
    TAKES_ARGUMENTS("nanoseconds", nanoseconds),
    TAKES_ARGUMENTS("tally", tally_strands),
    TAKES_ARGUMENTS("place", place_records),
    TAKES_ARGUMENTS("nest", nest),
    TAKES_ARGUMENTS("split", split_regions),
    TAKES_ARGUMENTS("pair", pair_events),
    TAKES_ARGUMENTS("durations", durations),
    TAKES_ARGUMENTS("idle", idle),
    TAKES_ARGUMENTS("waits", waits),
    TAKES_ARGUMENTS("flows", flows),
    TAKES_ARGUMENTS("edges", arrange_edges),
    TAKES_ARGUMENTS("retime", retime),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "clew.graph.kernel._ingest", .m_methods = methods};

PyMODINIT_FUNC PyInit__ingest(void) { return PyModuleDef_Init(&definition); }
