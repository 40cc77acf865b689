#include "queues/returned_items.h"

#include <stdlib.h>

#include "asyncio/strands.h"
#include "store/store.h"

#define LARGEST_KEPT 256

static uint64_t strand_here(void) {
    const struct runs *here = runs;
    uint32_t depth = here ? here->depth : 0;
    if (depth && depth <= MAX_RUNS && here->run[depth - 1].task) return here->run[depth - 1].key;
    return self.serial;
}

static bool is_weakly_referable(PyObject *item) {
    PyTypeObject *type = Py_TYPE(item);
    return type->tp_weaklistoffset > 0 && !PyType_Check(item);
}

static bool is_small_immutable(PyObject *item) {
    if (item == Py_None || PyLong_CheckExact(item)) return true;
    return (PyUnicode_CheckExact(item) && PyUnicode_GET_LENGTH(item) <= LARGEST_KEPT) ||
           (PyBytes_CheckExact(item) && PyBytes_GET_SIZE(item) <= LARGEST_KEPT);
}

void handed_out(struct handed_items *items, PyObject *item) {
    bool weak = is_weakly_referable(item);
    if (!weak && !is_small_immutable(item)) return;
    if (!items->place) items->place = calloc(MOST_HANDED, sizeof *items->place);
    if (!items->place) return;
    PyObject *reference = weak ? PyWeakref_NewRef(item, NULL) : Py_NewRef(item);
    if (!reference) {
        PyErr_Clear();
        return;
    }
    struct handed *place = &items->place[items->next++ % MOST_HANDED];
    PyObject *before = place->reference;
    *place = (struct handed){item, reference, strand_here()};
    Py_XDECREF(before);
}

bool handed_back(struct handed_items *items, PyObject *item) {
    if (!items->place) return false;
    for (uint32_t back = 1; back <= MOST_HANDED; back++) {
        struct handed *place = &items->place[(items->next - back) % MOST_HANDED];
        if (place->item != item || !place->reference) continue;
        bool weak = PyWeakref_Check(place->reference);
        bool same = weak ? PyWeakref_GET_OBJECT(place->reference) == item : place->taker == strand_here();
        if (!same && !weak) continue; /* another strand's equal item */
        PyObject *reference = place->reference;
        *place = (struct handed){NULL, NULL, 0};
        Py_DECREF(reference);
        return same;
    }
    return false;
}

int handed_traverse(const struct handed_items *items, visitproc visit, void *arg) {
    for (uint32_t i = 0; items->place && i < MOST_HANDED; i++) Py_VISIT(items->place[i].reference);
    return 0;
}

void handed_clear(struct handed_items *items) {
    struct handed *place = items->place;
    items->place = NULL;
    for (uint32_t i = 0; place && i < MOST_HANDED; i++) Py_XDECREF(place[i].reference);
    free(place);
}
