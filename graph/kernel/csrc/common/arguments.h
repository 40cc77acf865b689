/* The arguments of Python functions: arrays, which arrive through the buffer protocol, numbers and flags.
 *
 * A function reads its arguments by number, then checks `failed` once, before it uses the contents of an array.
 * Invariants: the first failure sets an exception, and every read after it returns NULL or 0 and does nothing; an
 * array whose read failed has no items. */
#ifndef CLEW_ARGUMENTS_H
#define CLEW_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST_ARGUMENTS = 20 };

typedef struct {
    PyObject *const *given; /* borrowed */
    Py_buffer held[MOST_ARGUMENTS];
    int taken;                     /* of `held` */
    size_t length[MOST_ARGUMENTS]; /* bytes of each argument; 0 if it is not an array, or was not read */
    bool failed;
} Arguments;

/* Fails unless the function got `expected` arguments. */
Arguments arguments_of(PyObject *const *given, Py_ssize_t count, Py_ssize_t expected);
void release_arguments(Arguments *in);

/* An array of items of `width` bytes, at least `least` of them; NULL and an exception otherwise. */
void *read_array(Arguments *in, int number, size_t width, int64_t least, const char *name);
/* The same for an array that the function fills. */
void *write_array(Arguments *in, int number, size_t width, int64_t least, const char *name);
/* The items of an array that was read. */
int64_t items(const Arguments *in, int number, size_t width);

/* An int from `low` to `high`. */
int64_t read_number(Arguments *in, int number, int64_t low, int64_t high);
double read_real(Arguments *in, int number);
bool read_flag(Arguments *in, int number);

/* The entry of a function in the list of a module. */
#define TAKES_ARGUMENTS(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}

PyObject *bytes_of(const void *data, size_t size);

#endif
