/* Convert a thread's records to the rows of a graph: the functions of `_ingest` that traverse records.
 *
 * Invariant: as in ingest.c. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "arrange.h"
#include "bounds.h"
#include "checks.h"
#include "clock.h"
#include "columns.h"
#include "methods.h"
#include "steps.h"

PyObject *fill(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 11);
    int32_t base = (int32_t)read_number(&in, 1, INT32_MIN, INT32_MAX);
    const Unit *units = read_array(&in, 0, 8, 0, "extent");
    PyObject *result = NULL;
    Sizes sizes = columns_measure(units, (size_t)items(&in, 0, sizeof(Unit)));
    int64_t records = (int64_t)sizes.records, extensions = (int64_t)sizes.extensions;
    Columns to;
    to.ticks = write_array(&in, 2, 8, records, "ticks");
    to.kind = write_array(&in, 3, 1, records, "kind");
    to.site = write_array(&in, 4, 4, records, "site");
    to.ext = write_array(&in, 5, 4, records, "ext");
    to.key = write_array(&in, 6, 8, extensions, "key");
    to.channel = write_array(&in, 7, 4, extensions, "channel");
    to.flags = write_array(&in, 8, 2, extensions, "flags");
    to.text_start = write_array(&in, 9, 8, extensions + 1, "text_start");
    to.texts = write_array(&in, 10, 1, (int64_t)sizes.text, "texts");
    if (in.failed) goto done;
    Py_BEGIN_ALLOW_THREADS
    columns_fill(units, &sizes, &to, base);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("LL", (long long)records, (long long)extensions);
done:
    release_arguments(&in);
    return result;
}

PyObject *steps(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 9);
    uint32_t since = (uint32_t)read_number(&in, 5, 0, UINT32_MAX);
    bool dropped = read_flag(&in, 7);
    Stepper stepper = {.since = since, .dropped = dropped};
    PyObject *result = NULL;
    const uint8_t *kind = read_array(&in, 0, 1, 0, "kind");
    int64_t records = items(&in, 0, 1);
    const uint32_t *site = read_array(&in, 1, 4, records, "site");
    const int32_t *ext = read_array(&in, 2, 4, records, "ext");
    const uint64_t *key = read_array(&in, 3, 8, 0, "key");
    if (in.failed || !rows_fit(ext, false, records, items(&in, 3, 8))) goto done;
    const uint64_t *keys = read_array(&in, 4, 8, (int64_t)since + 1, "keys");
    size_t strands = (size_t)items(&in, 4, 8);
    const uint32_t *stack = read_array(&in, 6, 4, 1, "stack");
    stepper.depth = stepper.room = (size_t)items(&in, 6, 4);
    uint32_t *strand = write_array(&in, 8, 4, records, "strand");
    if (in.failed) goto done;
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
    release_arguments(&in);
    return result;
}

PyObject *nanoseconds(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 5);
    Clock clock;
    PyObject *result = NULL;
    const uint64_t *ticks = read_array(&in, 0, 8, 0, "ticks");
    int64_t count = items(&in, 0, 8);
    clock.begin = read_array(&in, 1, 8, 1, "begin");
    clock.segments = items(&in, 1, 8);
    clock.base = read_array(&in, 2, 8, clock.segments, "base");
    clock.rate = read_array(&in, 3, 8, clock.segments, "rate");
    int64_t *ns = write_array(&in, 4, 8, count, "ns");
    if (in.failed) goto done;
    Py_BEGIN_ALLOW_THREADS
    convert(&clock, ticks, count, ns);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release_arguments(&in);
    return result;
}

PyObject *tally_strands(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 5);
    int64_t base = read_number(&in, 1, INT64_MIN, INT64_MAX), thread = read_number(&in, 2, INT64_MIN, INT64_MAX);
    PyObject *result = NULL;
    const uint32_t *strand = read_array(&in, 0, 4, 0, "strand");
    int64_t *count = write_array(&in, 3, 8, 0, "count");
    int64_t strands = items(&in, 3, 8);
    int64_t *home = write_array(&in, 4, 8, strands, "home");
    if (in.failed) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = base >= 0 && tally(strand, items(&in, 0, 4), base, strands, thread, count, home);
    Py_END_ALLOW_THREADS
    if (ok) result = Py_NewRef(Py_None);
    else PyErr_SetString(PyExc_ValueError, "a strand that is not there");
done:
    release_arguments(&in);
    return result;
}

PyObject *place_records(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 16);
    int64_t base = read_number(&in, 5, INT64_MIN, INT64_MAX), first = read_number(&in, 6, INT64_MIN, INT64_MAX);
    int32_t extended = (int32_t)read_number(&in, 7, INT32_MIN, INT32_MAX);
    bool wide = read_flag(&in, 10);
    PyObject *result = NULL;
    Row_columns to = {.wide = wide};
    const uint32_t *strand = read_array(&in, 0, 4, 0, "strand");
    int64_t records = items(&in, 0, 4);
    const int64_t *ts = read_array(&in, 1, 8, records, "times");
    const uint8_t *kind = read_array(&in, 2, 1, records, "kind");
    const uint32_t *site = read_array(&in, 3, 4, records, "site");
    const int32_t *ext = read_array(&in, 4, 4, records, "ext");
    const int64_t *start = read_array(&in, 8, 8, 1, "strand_start");
    int64_t strands = items(&in, 8, 8) - 1;
    int64_t *next = write_array(&in, 9, 8, strands, "free");
    to.ts = write_array(&in, 11, 8, 0, "ts");
    int64_t events = items(&in, 11, 8);
    if (in.failed || !bounds_fit(start, strands, events)) goto done;
    to.kind = write_array(&in, 12, 1, events, "kind");
    to.site = write_array(&in, 13, 4, events, "site");
    to.ext = write_array(&in, 14, 4, events, "ext");
    to.sequence = write_array(&in, 15, wide ? 8 : 4, events, "sequence");
    if (in.failed) goto done;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = base >= 0 && place(strand, ts, kind, site, ext, records, base, first, extended, start, strands, next, &to);
    Py_END_ALLOW_THREADS
    if (ok) result = Py_NewRef(Py_None);
    else PyErr_SetString(PyExc_ValueError, "a record without a place");
done:
    release_arguments(&in);
    return result;
}
