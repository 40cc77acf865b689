#include "facts/exception_identity.h"

#include <stddef.h>
#include <string.h>

#include "hooks/operands.h"
#include "store/store.h"

/* The unused bytes: 7 with pointers of 8 bytes. In them, from the low bits on: 6 of roles, 10 of the recording, 40 of the
 * object's number. A number of 0 means that the object was not seen. */
#define PLACE (offsetof(PyBaseExceptionObject, suppress_context) + 1)
#define SPARE (sizeof(PyBaseExceptionObject) - PLACE)
#define ROLE_BITS 6
#define EPOCH_BITS 10
#define ROLES ((1u << ROLE_BITS) - 1)
#define MARK_BITS (ROLE_BITS + EPOCH_BITS)

/* The last exception without unused bytes. Its fields are compared, never followed. */
static struct {
    PyObject *error, *arguments, *innermost;
    PyTypeObject *type;
    uint64_t mark;
} last;

static struct {
    uint64_t epoch, base, number;
} numbers;

static uint64_t mark_of_recording(void) { return (store.epoch & ((1u << EPOCH_BITS) - 1)) << ROLE_BITS; }

/* Do all types from this one to BaseException leave the bytes unused? */
static bool has_place(PyTypeObject *type) {
    if (SPARE < 7 || type == (PyTypeObject *)PyExc_MemoryError) return false;
    for (; type && type != (PyTypeObject *)PyExc_BaseException; type = type->tp_base) {
        bool own_fields = type->tp_base && type->tp_basicsize != type->tp_base->tp_basicsize;
        bool foreign = !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && strchr(type->tp_name, '.');
        if (own_fields && foreign) return false;
    }
    return type != NULL;
}

static PyObject *innermost_of(PyObject *error) {
    PyTracebackObject *traceback = (PyTracebackObject *)((PyBaseExceptionObject *)error)->traceback;
    if (!traceback || !PyTraceBack_Check((PyObject *)traceback)) return NULL;
    while (traceback->tb_next) traceback = traceback->tb_next;
    return (PyObject *)traceback;
}

static bool is_last(PyObject *error) {
    return last.error == error && last.type == Py_TYPE(error) && last.innermost && last.innermost == innermost_of(error) &&
           last.arguments == ((PyBaseExceptionObject *)error)->args;
}

static uint64_t mark_read(PyObject *error) {
    uint64_t mark = 0;
    if (!has_place(Py_TYPE(error))) return is_last(error) ? last.mark : 0;
    memcpy(&mark, (char *)error + PLACE, SPARE < 7 ? SPARE : 7);
    return mark;
}

static void mark_write(PyObject *error, uint64_t mark) {
    if (has_place(Py_TYPE(error))) {
        memcpy((char *)error + PLACE, &mark, SPARE < 7 ? SPARE : 7);
        return;
    }
    last.error = error;
    last.type = Py_TYPE(error);
    last.arguments = ((PyBaseExceptionObject *)error)->args;
    last.innermost = innermost_of(error);
    last.mark = mark;
}

struct identity identity_of(PyObject *error) {
    if (numbers.epoch != store.epoch) {
        numbers.epoch = store.epoch;
        numbers.base = key_fresh();
        numbers.number = 0;
    }
    uint64_t mark = mark_read(error), recording = mark_of_recording();
    if (!(mark >> MARK_BITS) || (mark & (((1u << EPOCH_BITS) - 1) << ROLE_BITS)) != recording) {
        mark = ++numbers.number << MARK_BITS | recording;
        mark_write(error, mark);
    }
    uint64_t key = numbers.base + (mark >> MARK_BITS);
    return (struct identity){key ? key : 1, (unsigned)(mark & ROLES)};
}

void identity_add(PyObject *error, unsigned roles) {
    uint64_t mark = mark_read(error);
    if (mark) mark_write(error, mark | roles);
}
