/* Time steps as adaptive Rice codes.
 *
 * A step is coded by its difference from the usual step after the words of the record and of the previous record. */
#ifndef CLEW_RICE_H
#define CLEW_RICE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "scratch.h"

/* Encodes the steps into `work->coded`. Returns the number of bytes. */
Py_ssize_t rice_encode(Work *work, Py_ssize_t count, Py_ssize_t words);

/* Decodes the steps into `work->steps`. */
bool rice_decode(Work *work, Stream stream, Py_ssize_t count, Py_ssize_t words);

#endif
