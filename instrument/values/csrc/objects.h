/* Numbers for objects, in the order of first sight. A numbered object is kept alive, so that its address means no other object
 * later. Objects with a finalizer (generators, files, classes with `__del__`) are not kept: when they die is part of what the
 * program does. */
#ifndef CLEW_OBJECTS_H
#define CLEW_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef struct {
    PyObject *object;
    PyTypeObject *type;
    int32_t number;
} Slot;

typedef struct {
    Slot *slots;
    size_t size, used;
    PyObject **kept; /* by number; NULL for an object that is not kept */
    PyTypeObject **types;
    int32_t *lengths; /* by number: the length of a container when it was recorded last; -1 for none */
    int32_t count, room;
} Objects;

int objects_open(Objects *objects);
void objects_close(Objects *objects);

/* Return the number of an object, -1 for NULL, -2 without memory. `is_new` is set if it was not known. */
int32_t object_number(Objects *objects, PyObject *object, int *is_new);

#endif
