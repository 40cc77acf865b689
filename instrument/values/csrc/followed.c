#include "followed.h"

#include "writer.h"

#include <string.h>

static struct {
    PyObject *describe;
    CodeEntry **codes;
    size_t codes_size, codes_used;
    FrameState *frames;
    size_t frames_size, frames_used;
    int32_t frame_count;
} tables;

static char removed_mark;
#define REMOVED ((PyFrameObject *)&removed_mark)

static size_t pointer_hash(const void *pointer) { return (size_t)(((uintptr_t)pointer >> 4) * 0x9E3779B97F4A7C15ull >> 20); }

FrameState *find_frame(PyFrameObject *frame) {
    size_t mask = tables.frames_size - 1;
    for (size_t at = pointer_hash(frame) & mask; tables.frames[at].frame != NULL; at = (at + 1) & mask)
        if (tables.frames[at].frame == frame) return &tables.frames[at];
    return NULL;
}

static int grow_frames(void) {
    size_t live = 0;
    for (size_t i = 0; i < tables.frames_size; i++) live += tables.frames[i].frame != NULL && tables.frames[i].frame != REMOVED;
    size_t size = tables.frames_size;
    while (live * 3 > size) size *= 2;
    FrameState *frames = PyMem_RawCalloc(size, sizeof *frames);
    if (frames == NULL) return cut(MEMORY);
    for (size_t i = 0; i < tables.frames_size; i++) {
        FrameState *old = &tables.frames[i];
        if (old->frame == NULL || old->frame == REMOVED) continue;
        size_t at = pointer_hash(old->frame) & (size - 1);
        while (frames[at].frame != NULL) at = (at + 1) & (size - 1);
        frames[at] = *old;
    }
    PyMem_RawFree(tables.frames);
    tables.frames = frames;
    tables.frames_size = size;
    tables.frames_used = live;
    return 0;
}

FrameState *add_frame(PyFrameObject *frame, CodeEntry *code) {
    if ((tables.frames_used + 1) * 2 > tables.frames_size && grow_frames() < 0) return NULL;
    size_t at = pointer_hash(frame) & (tables.frames_size - 1);
    while (tables.frames[at].frame != NULL) at = (at + 1) & (tables.frames_size - 1);
    tables.frames_used++;
    tables.frames[at] = (FrameState){frame, code, tables.frame_count++, -1, 0, 0, -1};
    return &tables.frames[at];
}

static void clear_code(CodeEntry *entry) {
    Py_XDECREF(entry->code);
    Py_XDECREF(entry->places);
    Py_XDECREF(entry->pops);
    Py_XDECREF(entry->flags);
    Py_XDECREF(entry->cells);
    Py_XDECREF(entry->cell_of);
    Py_XDECREF(entry->depths);
    PyMem_RawFree(entry);
}

/* Ask for the tables of a code that is new. */
static CodeEntry *describe_code(PyCodeObject *code) {
    CodeEntry *entry = PyMem_RawCalloc(1, sizeof *entry);
    if (entry == NULL) {
        cut(MEMORY);
        return NULL;
    }
    entry->code = (PyCodeObject *)Py_NewRef((PyObject *)code);
    entry->number = -1;
    PyObject *answer = PyObject_CallOneArg(tables.describe, (PyObject *)code);
    if (answer != NULL && answer != Py_None &&
        !PyArg_ParseTuple(answer, "iiSSSSSS", &entry->number, &entry->parameters, &entry->places, &entry->pops, &entry->flags,
                          &entry->cells, &entry->cell_of, &entry->depths)) {
        Py_CLEAR(answer);
        entry->places = entry->pops = entry->flags = entry->cells = entry->cell_of = entry->depths = NULL;
    }
    if (answer == NULL) {
        PyErr_Clear();
        clear_code(entry);
        cut(FAILED);
        return NULL;
    }
    Py_XINCREF(entry->places);
    Py_XINCREF(entry->pops);
    Py_XINCREF(entry->flags);
    Py_XINCREF(entry->cells);
    Py_XINCREF(entry->cell_of);
    Py_XINCREF(entry->depths);
    Py_DECREF(answer);
    return entry;
}

CodeEntry *find_code(PyCodeObject *code) {
    size_t mask = tables.codes_size - 1;
    size_t at = pointer_hash(code) & mask;
    for (; tables.codes[at] != NULL; at = (at + 1) & mask)
        if (tables.codes[at]->code == code) return tables.codes[at];
    CodeEntry *entry = describe_code(code);
    if (entry == NULL) return NULL;
    if ((tables.codes_used + 1) * 2 > tables.codes_size) {
        size_t size = tables.codes_size * 2;
        CodeEntry **codes = PyMem_RawCalloc(size, sizeof *codes);
        if (codes == NULL) {
            clear_code(entry);
            cut(MEMORY);
            return NULL;
        }
        for (size_t i = 0; i < tables.codes_size; i++) {
            if (tables.codes[i] == NULL) continue;
            size_t place = pointer_hash(tables.codes[i]->code) & (size - 1);
            while (codes[place] != NULL) place = (place + 1) & (size - 1);
            codes[place] = tables.codes[i];
        }
        PyMem_RawFree(tables.codes);
        tables.codes = codes;
        tables.codes_size = size;
    }
    at = pointer_hash(code) & (tables.codes_size - 1);
    while (tables.codes[at] != NULL) at = (at + 1) & (tables.codes_size - 1);
    tables.codes[at] = entry;
    tables.codes_used++;
    return entry;
}

void remove_frame(FrameState *state) { state->frame = REMOVED; }

int followed_open(PyObject *describe) {
    memset(&tables, 0, sizeof tables);
    tables.codes_size = tables.frames_size = 1024;
    tables.codes = PyMem_RawCalloc(tables.codes_size, sizeof *tables.codes);
    tables.frames = PyMem_RawCalloc(tables.frames_size, sizeof *tables.frames);
    if (tables.codes == NULL || tables.frames == NULL) {
        PyMem_RawFree(tables.codes);
        PyMem_RawFree(tables.frames);
        return -1;
    }
    tables.describe = Py_NewRef(describe);
    return 0;
}

void followed_close(void) {
    for (size_t i = 0; i < tables.codes_size; i++)
        if (tables.codes[i] != NULL) clear_code(tables.codes[i]);
    PyMem_RawFree(tables.codes);
    PyMem_RawFree(tables.frames);
    tables.codes = NULL;
    tables.frames = NULL;
    Py_CLEAR(tables.describe);
}
