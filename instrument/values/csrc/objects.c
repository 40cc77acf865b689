#include "objects.h"

#include <string.h>

#define FIRST_SIZE 4096

static size_t hash_of(const void *pointer) {
    uint64_t value = (uintptr_t)pointer >> 4;
    return (size_t)(value * 0x9E3779B97F4A7C15ull >> 20);
}

int objects_open(Objects *objects) {
    memset(objects, 0, sizeof *objects);
    objects->size = FIRST_SIZE;
    objects->slots = PyMem_RawCalloc(objects->size, sizeof *objects->slots);
    return objects->slots == NULL ? -1 : 0;
}

void objects_close(Objects *objects) {
    PyObject **kept = objects->kept;
    int32_t count = objects->count;
    PyTypeObject **types = objects->types;
    PyMem_RawFree(objects->slots);
    PyMem_RawFree(objects->lengths);
    memset(objects, 0, sizeof *objects);
    /* Finalizers that run now find the table empty. */
    for (int32_t i = 0; i < count; i++) {
        Py_XDECREF(kept[i]);
        Py_XDECREF((PyObject *)types[i]);
    }
    PyMem_RawFree(kept);
    PyMem_RawFree(types);
}

static int grow_slots(Objects *objects) {
    size_t size = objects->size * 2;
    Slot *slots = PyMem_RawCalloc(size, sizeof *slots);
    if (slots == NULL) return -1;
    for (size_t i = 0; i < objects->size; i++) {
        Slot *old = &objects->slots[i];
        if (old->object == NULL) continue;
        size_t at = hash_of(old->object) & (size - 1);
        while (slots[at].object != NULL) at = (at + 1) & (size - 1);
        slots[at] = *old;
    }
    PyMem_RawFree(objects->slots);
    objects->slots = slots;
    objects->size = size;
    return 0;
}

static int grow_numbers(Objects *objects) {
    int32_t room = objects->room ? objects->room * 2 : FIRST_SIZE;
    PyObject **kept = PyMem_RawRealloc(objects->kept, (size_t)room * sizeof *kept);
    if (kept == NULL) return -1;
    objects->kept = kept;
    PyTypeObject **types = PyMem_RawRealloc(objects->types, (size_t)room * sizeof *types);
    if (types == NULL) return -1;
    objects->types = types;
    int32_t *lengths = PyMem_RawRealloc(objects->lengths, (size_t)room * sizeof *lengths);
    if (lengths == NULL) return -1;
    objects->lengths = lengths;
    objects->room = room;
    return 0;
}

int32_t object_number(Objects *objects, PyObject *object, int *is_new) {
    *is_new = 0;
    if (object == NULL) return -1;
    PyTypeObject *type = Py_TYPE(object);
    size_t mask = objects->size - 1;
    size_t at = hash_of(object) & mask;
    Slot *slot = &objects->slots[at];
    while (slot->object != NULL) {
        if (slot->object == object) {
            if (slot->type == type) return slot->number;
            break; /* an object that was not kept died, and another one is here now */
        }
        at = (at + 1) & mask;
        slot = &objects->slots[at];
    }
    if (objects->count == objects->room && grow_numbers(objects) < 0) return -2;
    int32_t number = objects->count++;
    int is_kept = type->tp_finalize == NULL && type->tp_del == NULL;
    objects->kept[number] = is_kept ? Py_NewRef(object) : NULL;
    objects->types[number] = (PyTypeObject *)Py_NewRef((PyObject *)type);
    objects->lengths[number] = -1;
    int was_free = slot->object == NULL;
    slot->object = object;
    slot->type = type;
    slot->number = number;
    if (was_free && ++objects->used * 2 > objects->size && grow_slots(objects) < 0) return -2;
    *is_new = 1;
    return number;
}
