/* Who an object is in facts: a key for its whole life, also if its address is used again afterwards.
 *
 * The number behind the key is kept in an attribute of the object. For an object without attributes of its own, such as one of
 * a class with `__slots__`, it is kept in a table until a weak reference tells that the object is gone.
 *
 * Invariants: no code of the program runs, and no object of the program is kept alive. */
#ifndef CLEW_FACTS_OBJECT_IDENTITY_H
#define CLEW_FACTS_OBJECT_IDENTITY_H

#include "core.h"

#include <stdint.h>

/* The key of a number that no other object of this process has. */
uint64_t key_of_number(uint64_t number);
uint64_t number_fresh(void);

/* 0 when the object takes neither an attribute nor a weak reference, or when there is no memory. */
uint64_t object_key(PyObject *object);

/* What is stored in an object under a name, a new reference; NULL without an error, also for a property. */
PyObject *stored_in(PyObject *object, PyObject *name);

/* The number of slots of an object: its attribute of that name, or what `slots_are` told; 0 when not known. */
uint64_t slots_of(PyObject *object, PyObject *attribute);

PyObject *core_object_key(PyObject *module, PyObject *object);
PyObject *core_slots_are(PyObject *module, PyObject *arguments);
PyObject *core_part_of(PyObject *module, PyObject *arguments);

#endif
