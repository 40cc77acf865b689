/* The functions of `_ingest` that find edges, sort them and find the waits that they ended.
 *
 * Invariant: as in `ingest.c`, which makes these functions a module. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"
#include "bounds.h"
#include "checks.h"
#include "durations.h"
#include "edges.h"
#include "methods.h"
#include "pairs.h"

PyObject *pair_events(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 18);
    bool wide = read_flag(&in, 4);
    uint16_t without = (uint16_t)read_number(&in, 9, 0, UINT16_MAX);
    int64_t granted = read_number(&in, 14, INT64_MIN, INT64_MAX);
    PyObject *result = NULL;
    Records of = {.wide = wide, .without = without};
    Roles roles;
    Found found = {.edges = 0};
    of.kind = read_array(&in, 0, 1, 0, "kind");
    int64_t events = items(&in, 0, 1);
    of.ext = read_array(&in, 1, 4, events, "ext");
    of.ts = read_array(&in, 2, 8, events, "ts");
    of.sequence = read_array(&in, 3, wide ? 8 : 4, events, "sequence");
    of.strand_start = read_array(&in, 5, 8, 1, "strand_start");
    of.strands = items(&in, 5, 8) - 1;
    if (in.failed || !bounds_fit(of.strand_start, of.strands, events)) goto done;
    of.process = read_array(&in, 6, 4, of.strands, "process");
    of.key = read_array(&in, 7, 8, 0, "key");
    int64_t extensions = items(&in, 7, 8);
    of.flags = read_array(&in, 8, 2, extensions, "flags");
    if (in.failed || !rows_fit(of.ext, false, events, extensions)) goto done;
    roles.family = read_array(&in, 10, 1, 256, "family");
    roles.source = read_array(&in, 11, 1, 256, "source");
    const uint8_t *handed_over = read_array(&in, 12, 1, FAMILIES, "handed_over");
    const uint8_t *edge = read_array(&in, 13, 1, FAMILIES, "edge");
    if (in.failed) goto done;
    for (int family = 0; family < FAMILIES; family++) {
        roles.handed_over[family + 1] = handed_over[family];
        roles.edge[family + 1] = edge[family];
    }
    for (int kind = 0; kind < 256; kind++)
        if (roles.family[kind] > FAMILIES) {
            PyErr_SetString(PyExc_ValueError, "a family that is not there");
            goto done;
        }
    found.src = write_array(&in, 15, 8, 0, "src");
    found.room = items(&in, 15, 8);
    found.dst = write_array(&in, 16, 8, found.room, "dst");
    found.kind = write_array(&in, 17, 1, found.room, "edge_kind");
    if (in.failed) goto done;
    Pairing ended;
    Py_BEGIN_ALLOW_THREADS
    ended = pair_all(&of, &roles, granted, &found);
    Py_END_ALLOW_THREADS
    if (ended == PAIRED) result = Py_BuildValue("LN", (long long)found.edges, bytes_of(found.missed, sizeof found.missed));
    else if (ended == NO_ROOM) PyErr_SetString(PyExc_ValueError, "more edges than there is room for");
    else PyErr_NoMemory();
done:
    release_arguments(&in);
    return result;
}

/* Are all of `edges` pairs of rows of events? */
static bool edges_fit(const int64_t *src, const int64_t *dst, int64_t edges, int64_t events) {
    if (!rows_fit(src, true, edges, events) || !rows_fit(dst, true, edges, events)) return false;
    for (int64_t edge = 0; edge < edges; edge++)
        if (src[edge] < 0 || dst[edge] < 0) {
            PyErr_SetString(PyExc_ValueError, "an edge without an end");
            return false;
        }
    return true;
}

PyObject *waits(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 7);
    PyObject *result = NULL;
    const int64_t *ts = read_array(&in, 0, 8, 0, "ts");
    int64_t events = items(&in, 0, 8);
    const uint8_t *kind = read_array(&in, 1, 1, events, "kind");
    const uint32_t *strand = read_array(&in, 2, 4, events, "strand");
    const uint8_t *passive = read_array(&in, 3, 1, 256, "passive");
    const int64_t *src = read_array(&in, 4, 8, 0, "src");
    int64_t edges = items(&in, 4, 8);
    const int64_t *dst = read_array(&in, 5, 8, edges, "dst");
    uint8_t *mask = write_array(&in, 6, 1, events, "idle");
    if (in.failed || !edges_fit(src, dst, edges, events)) goto done;
    Py_BEGIN_ALLOW_THREADS
    find_waits(ts, kind, strand, passive, src, dst, edges, mask);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release_arguments(&in);
    return result;
}

PyObject *arrange_edges(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    Arguments in = arguments_of(args, nargs, 11);
    int64_t regions = read_number(&in, 4, INT64_MIN, INT64_MAX);
    PyObject *result = NULL;
    Edge_columns from, to;
    from.src = read_array(&in, 0, 8, 0, "src");
    to.edges = from.edges = items(&in, 0, 8);
    from.dst = read_array(&in, 1, 8, from.edges, "dst");
    from.kind = read_array(&in, 2, 1, from.edges, "kind");
    const uint32_t *region = read_array(&in, 3, 4, 0, "region");
    int64_t events = items(&in, 3, 4);
    const int32_t *ext = read_array(&in, 5, 4, events, "ext");
    const uint32_t *channel = read_array(&in, 6, 4, 0, "channel");
    if (in.failed || !rows_fit(ext, false, events, items(&in, 6, 4))) goto done;
    to.src = write_array(&in, 7, 8, from.edges, "src");
    to.dst = write_array(&in, 8, 8, from.edges, "dst");
    to.kind = write_array(&in, 9, 1, from.edges, "kind");
    uint32_t *name = write_array(&in, 10, 4, from.edges, "name");
    if (in.failed || !edges_fit(from.src, from.dst, from.edges, events)) goto done;
    uint32_t most = 0;
    for (int64_t row = 0; row < events; row++) most = region[row] > most ? region[row] : most;
    if (events && most >= regions) {
        PyErr_SetString(PyExc_ValueError, "a region that is not there");
        goto done;
    }
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = edges_arrange(&from, region, regions, &to);
    if (ok) edges_name(&to, ext, channel, name);
    Py_END_ALLOW_THREADS
    result = ok ? Py_NewRef(Py_None) : PyErr_NoMemory();
done:
    release_arguments(&in);
    return result;
}
