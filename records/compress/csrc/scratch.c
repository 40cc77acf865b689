#include "scratch.h"

Work shared;

uint32_t mask_for(Py_ssize_t count) {
    uint32_t size = 64;
    while (size < 2 * (uint32_t)count) size *= 2;
    return size - 1;
}

bool refuse(const char *why) {
    PyErr_SetString(PyExc_ValueError, why);
    return false;
}
