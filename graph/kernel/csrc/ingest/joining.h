/* The functions of `_ingest` that find edges, sort them and find the waits that they ended.
 *
 * Invariant: as in `ingest.c`, which makes these functions a module. */
#ifndef CLEW_JOINING_H
#define CLEW_JOINING_H

#include "arguments.h"
#include "durations.h"
#include "edges.h"
#include "pairs.h"

static PyObject *pair_events(PyObject *module, PyObject *args) {
    PyObject *given[15];
    int wide;
    unsigned short without;
    long long granted;
    if (!PyArg_ParseTuple(args, "OOOOpOOOOHOOOOLOOO", given, given + 1, given + 2, given + 3, &wide, given + 4, given + 5,
                          given + 6, given + 7, &without, given + 8, given + 9, given + 10, given + 11, &granted, given + 12,
                          given + 13, given + 14))
        return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    Records of = {.wide = wide, .without = without};
    Roles roles;
    Found found = {.edges = 0};
    if (!(of.kind = take(&buffers, given[0], 1, 0, false, "kind"))) goto done;
    int64_t events = items(&buffers, 0, 1);
    if (!(of.ext = take(&buffers, given[1], 4, events, false, "ext"))) goto done;
    if (!(of.ts = take(&buffers, given[2], 8, events, false, "ts"))) goto done;
    if (!(of.sequence = take(&buffers, given[3], wide ? 8 : 4, events, false, "sequence"))) goto done;
    if (!(of.strand_start = take(&buffers, given[4], 8, 1, false, "strand_start"))) goto done;
    of.strands = items(&buffers, 4, 8) - 1;
    if (!bounds_fit(of.strand_start, of.strands, events)) goto done;
    if (!(of.process = take(&buffers, given[5], 4, of.strands, false, "process"))) goto done;
    if (!(of.key = take(&buffers, given[6], 8, 0, false, "key"))) goto done;
    int64_t extensions = items(&buffers, 6, 8);
    if (!(of.flags = take(&buffers, given[7], 2, extensions, false, "flags"))) goto done;
    if (!rows_fit(of.ext, false, events, extensions)) goto done;
    if (!(roles.family = take(&buffers, given[8], 1, 256, false, "family"))) goto done;
    if (!(roles.source = take(&buffers, given[9], 1, 256, false, "source"))) goto done;
    const uint8_t *handed_over = take(&buffers, given[10], 1, FAMILIES, false, "handed_over");
    if (!handed_over) goto done;
    const uint8_t *edge = take(&buffers, given[11], 1, FAMILIES, false, "edge");
    if (!edge) goto done;
    for (int family = 0; family < FAMILIES; family++) {
        roles.handed_over[family + 1] = handed_over[family];
        roles.edge[family + 1] = edge[family];
    }
    for (int kind = 0; kind < 256; kind++)
        if (roles.family[kind] > FAMILIES) {
            PyErr_SetString(PyExc_ValueError, "a family that is not there");
            goto done;
        }
    if (!(found.src = take(&buffers, given[12], 8, 0, true, "src"))) goto done;
    found.room = items(&buffers, 12, 8);
    if (!(found.dst = take(&buffers, given[13], 8, found.room, true, "dst"))) goto done;
    if (!(found.kind = take(&buffers, given[14], 1, found.room, true, "edge_kind"))) goto done;
    Pairing ended;
    Py_BEGIN_ALLOW_THREADS
    ended = pair_all(&of, &roles, granted, &found);
    Py_END_ALLOW_THREADS
    if (ended == PAIRED) result = Py_BuildValue("LN", (long long)found.edges, bytes_of(found.missed, sizeof found.missed));
    else if (ended == NO_ROOM) PyErr_SetString(PyExc_ValueError, "more edges than there is room for");
    else PyErr_NoMemory();
done:
    release_buffers(&buffers);
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

static PyObject *waits(PyObject *module, PyObject *args) {
    PyObject *given[7];
    if (!PyArg_ParseTuple(args, "OOOOOOO", given, given + 1, given + 2, given + 3, given + 4, given + 5, given + 6))
        return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    const int64_t *ts = take(&buffers, given[0], 8, 0, false, "ts");
    if (!ts) goto done;
    int64_t events = items(&buffers, 0, 8);
    const uint8_t *kind = take(&buffers, given[1], 1, events, false, "kind");
    if (!kind) goto done;
    const uint32_t *strand = take(&buffers, given[2], 4, events, false, "strand");
    if (!strand) goto done;
    const uint8_t *passive = take(&buffers, given[3], 1, 256, false, "passive");
    if (!passive) goto done;
    const int64_t *src = take(&buffers, given[4], 8, 0, false, "src");
    if (!src) goto done;
    int64_t edges = items(&buffers, 4, 8);
    const int64_t *dst = take(&buffers, given[5], 8, edges, false, "dst");
    if (!dst) goto done;
    uint8_t *mask = take(&buffers, given[6], 1, events, true, "idle");
    if (!mask || !edges_fit(src, dst, edges, events)) goto done;
    Py_BEGIN_ALLOW_THREADS
    find_waits(ts, kind, strand, passive, src, dst, edges, mask);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release_buffers(&buffers);
    return result;
}

static PyObject *arrange_edges(PyObject *module, PyObject *args) {
    PyObject *given[10];
    long long regions;
    if (!PyArg_ParseTuple(args, "OOOOLOOOOOO", given, given + 1, given + 2, given + 3, &regions, given + 4, given + 5,
                          given + 6, given + 7, given + 8, given + 9))
        return NULL;
    Buffers buffers = {.count = 0};
    PyObject *result = NULL;
    Edge_columns from, to;
    if (!(from.src = take(&buffers, given[0], 8, 0, false, "src"))) goto done;
    to.edges = from.edges = items(&buffers, 0, 8);
    if (!(from.dst = take(&buffers, given[1], 8, from.edges, false, "dst"))) goto done;
    if (!(from.kind = take(&buffers, given[2], 1, from.edges, false, "kind"))) goto done;
    const uint32_t *region = take(&buffers, given[3], 4, 0, false, "region");
    if (!region) goto done;
    int64_t events = items(&buffers, 3, 4);
    const int32_t *ext = take(&buffers, given[4], 4, events, false, "ext");
    if (!ext) goto done;
    const uint32_t *channel = take(&buffers, given[5], 4, 0, false, "channel");
    if (!channel || !rows_fit(ext, false, events, items(&buffers, 5, 4))) goto done;
    if (!(to.src = take(&buffers, given[6], 8, from.edges, true, "src"))) goto done;
    if (!(to.dst = take(&buffers, given[7], 8, from.edges, true, "dst"))) goto done;
    if (!(to.kind = take(&buffers, given[8], 1, from.edges, true, "kind"))) goto done;
    uint32_t *name = take(&buffers, given[9], 4, from.edges, true, "name");
    if (!name || !edges_fit(from.src, from.dst, from.edges, events)) goto done;
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
    release_buffers(&buffers);
    return result;
}

#endif
