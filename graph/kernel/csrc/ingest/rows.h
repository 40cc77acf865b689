/* Convert a thread's records to the rows of a graph: the functions of `_ingest` that traverse records.
 *
 * Invariant: as in ingest.c. */
#ifndef CLEW_ROWS_H
#define CLEW_ROWS_H

#include "arguments.h"
#include "arrange.h"
#include "clock.h"
#include "columns.h"
#include "steps.h"

static PyObject *fill(PyObject *module, PyObject *args) {
    PyObject *extent, *given[9];
    int base;
    if (!PyArg_ParseTuple(args, "OiOOOOOOOOO", &extent, &base, given, given + 1, given + 2, given + 3, given + 4, given + 5,
                          given + 6, given + 7, given + 8))
        return NULL;
    Buffers buffers = {.count = 0};
    const Unit *units = take(&buffers, extent, 8, 0, false, "extent");
    PyObject *result = NULL;
    if (!units) goto done;
    Sizes sizes = columns_measure(units, (size_t)buffers.held[0].len / sizeof(Unit));
    int64_t records = (int64_t)sizes.records, extensions = (int64_t)sizes.extensions;
    Columns to;
    if (!(to.ticks = take(&buffers, given[0], 8, records, true, "ticks"))) goto done;
    if (!(to.kind = take(&buffers, given[1], 1, records, true, "kind"))) goto done;
    if (!(to.site = take(&buffers, given[2], 4, records, true, "site"))) goto done;
    if (!(to.ext = take(&buffers, given[3], 4, records, true, "ext"))) goto done;
    if (!(to.key = take(&buffers, given[4], 8, extensions, true, "key"))) goto done;
    if (!(to.channel = take(&buffers, given[5], 4, extensions, true, "channel"))) goto done;
    if (!(to.flags = take(&buffers, given[6], 2, extensions, true, "flags"))) goto done;
    if (!(to.text_start = take(&buffers, given[7], 8, extensions + 1, true, "text_start"))) goto done;
    if (!(to.texts = take(&buffers, given[8], 1, (int64_t)sizes.text, true, "texts"))) goto done;
    Py_BEGIN_ALLOW_THREADS
    columns_fill(units, &sizes, &to, base);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("LL", (long long)records, (long long)extensions);
done:
    release_buffers(&buffers);
    return result;
}

static PyObject *steps(PyObject *module, PyObject *args) {
    PyObject *given[7];
    unsigned since;
    int dropped;
    if (!PyArg_ParseTuple(args, "OOOOOIOpO", given, given + 1, given + 2, given + 3, given + 4, &since, given + 5, &dropped,
                          given + 6))
        return NULL;
    Buffers buffers = {.count = 0};
    Stepper stepper = {.since = since, .dropped = dropped};
    PyObject *result = NULL;
    const uint8_t *kind = take(&buffers, given[0], 1, 0, false, "kind");
    if (!kind) goto done;
    int64_t records = items(&buffers, 0, 1);
    const uint32_t *site = take(&buffers, given[1], 4, records, false, "site");
    if (!site) goto done;
    const int32_t *ext = take(&buffers, given[2], 4, records, false, "ext");
    if (!ext) goto done;
    const uint64_t *key = take(&buffers, given[3], 8, 0, false, "key");
    if (!key || !rows_fit(ext, false, records, items(&buffers, 3, 8))) goto done;
    const uint64_t *keys = take(&buffers, given[4], 8, (int64_t)since + 1, false, "keys");
    if (!keys) goto done;
    size_t strands = (size_t)items(&buffers, 4, 8);
    const uint32_t *stack = take(&buffers, given[5], 4, 1, false, "stack");
    if (!stack) goto done;
    stepper.depth = stepper.room = (size_t)items(&buffers, 5, 4);
    uint32_t *strand = take(&buffers, given[6], 4, records, true, "strand");
    if (!strand) goto done;
    for (size_t at = 0; at < stepper.depth; at++)
        if (stack[at] < since || stack[at] >= strands) {
            PyErr_SetString(PyExc_ValueError, "a strand that is not there");
            goto done;
        }
    stepper.strands.first = since;
    stepper.strands.count = stepper.strands.room = strands - since;
    stepper.strands.keys = malloc(stepper.strands.room * sizeof *keys);
    stepper.stack = malloc(stepper.room * sizeof *stack);
    stepper.failed = !stepper.strands.keys || !stepper.stack;
    if (!stepper.failed) {
        memcpy(stepper.strands.keys, keys + since, stepper.strands.count * sizeof *keys);
        memcpy(stepper.stack, stack, stepper.depth * sizeof *stack);
        size_t size = 16;
        while (size < stepper.strands.count * 2 + 2) size *= 2;
        Py_BEGIN_ALLOW_THREADS
        remember_since(&stepper, size);
        step_all(&stepper, kind, site, ext, key, records, strand);
        Py_END_ALLOW_THREADS
    }
    if (stepper.failed) PyErr_NoMemory();
    else {
        const uint64_t *added = stepper.strands.keys + (strands - since);
        size_t count = stepper.strands.first + stepper.strands.count - strands;
        result = Py_BuildValue("NINLN", bytes_of(added, count * sizeof *added), stepper.since,
                               bytes_of(stepper.stack, stepper.depth * sizeof *stack), (long long)stepper.unmatched,
                               PyBool_FromLong(stepper.dropped));
    }
done:
    stepper_free(&stepper);
    release_buffers(&buffers);
    return result;
}

static PyObject *nanoseconds(PyObject *module, PyObject *args) {
    PyObject *given[5];
    if (!PyArg_ParseTuple(args, "OOOOO", given, given + 1, given + 2, given + 3, given + 4)) return NULL;
    Buffers buffers = {.count = 0};
    Clock clock;
    PyObject *result = NULL;
    const uint64_t *ticks = take(&buffers, given[0], 8, 0, false, "ticks");
    if (!ticks) goto done;
    int64_t count = items(&buffers, 0, 8);
    if (!(clock.begin = take(&buffers, given[1], 8, 1, false, "begin"))) goto done;
    clock.segments = items(&buffers, 1, 8);
    if (!(clock.base = take(&buffers, given[2], 8, clock.segments, false, "base"))) goto done;
    if (!(clock.rate = take(&buffers, given[3], 8, clock.segments, false, "rate"))) goto done;
    int64_t *ns = take(&buffers, given[4], 8, count, true, "ns");
    if (!ns) goto done;
    Py_BEGIN_ALLOW_THREADS
    convert(&clock, ticks, count, ns);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release_buffers(&buffers);
    return result;
}

static PyObject *tally_strands(PyObject *module, PyObject *args) {
    PyObject *given[3];
    long long base, thread;
    if (!PyArg_ParseTuple(args, "OLLOO", given, &base, &thread, given + 1, given + 2)) return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    const uint32_t *strand = take(&buffers, given[0], 4, 0, false, "strand");
    if (!strand) goto done;
    int64_t *count = take(&buffers, given[1], 8, 0, true, "count");
    if (!count) goto done;
    int64_t strands = items(&buffers, 1, 8);
    int64_t *home = take(&buffers, given[2], 8, strands, true, "home");
    if (!home) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = base >= 0 && tally(strand, items(&buffers, 0, 4), base, strands, thread, count, home);
    Py_END_ALLOW_THREADS
    if (ok) result = Py_NewRef(Py_None);
    else PyErr_SetString(PyExc_ValueError, "a strand that is not there");
done:
    release_buffers(&buffers);
    return result;
}

static PyObject *place_records(PyObject *module, PyObject *args) {
    PyObject *given[12];
    long long base, first;
    int extended, wide;
    if (!PyArg_ParseTuple(args, "OOOOOLLiOOpOOOOO", given, given + 1, given + 2, given + 3, given + 4, &base, &first, &extended,
                          given + 5, given + 6, &wide, given + 7, given + 8, given + 9, given + 10, given + 11))
        return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    Row_columns to = {.wide = wide};
    const uint32_t *strand = take(&buffers, given[0], 4, 0, false, "strand");
    if (!strand) goto done;
    int64_t records = items(&buffers, 0, 4);
    const int64_t *ts = take(&buffers, given[1], 8, records, false, "times");
    if (!ts) goto done;
    const uint8_t *kind = take(&buffers, given[2], 1, records, false, "kind");
    if (!kind) goto done;
    const uint32_t *site = take(&buffers, given[3], 4, records, false, "site");
    if (!site) goto done;
    const int32_t *ext = take(&buffers, given[4], 4, records, false, "ext");
    if (!ext) goto done;
    const int64_t *start = take(&buffers, given[5], 8, 1, false, "strand_start");
    if (!start) goto done;
    int64_t strands = items(&buffers, 5, 8) - 1;
    int64_t *next = take(&buffers, given[6], 8, strands, true, "free");
    if (!next) goto done;
    if (!(to.ts = take(&buffers, given[7], 8, 0, true, "ts"))) goto done;
    int64_t events = items(&buffers, 7, 8);
    if (!bounds_fit(start, strands, events)) goto done;
    if (!(to.kind = take(&buffers, given[8], 1, events, true, "kind"))) goto done;
    if (!(to.site = take(&buffers, given[9], 4, events, true, "site"))) goto done;
    if (!(to.ext = take(&buffers, given[10], 4, events, true, "ext"))) goto done;
    if (!(to.sequence = take(&buffers, given[11], wide ? 8 : 4, events, true, "sequence"))) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = base >= 0 && place(strand, ts, kind, site, ext, records, base, first, extended, start, strands, next, &to);
    Py_END_ALLOW_THREADS
    if (ok) result = Py_NewRef(Py_None);
    else PyErr_SetString(PyExc_ValueError, "a record without a place");
done:
    release_buffers(&buffers);
    return result;
}

#endif
