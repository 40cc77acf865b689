/* The number of an exception object, for as long as it lives, and the roles in which it was recorded. */
#ifndef CLEW_FACTS_EXCEPTION_IDENTITY_H
#define CLEW_FACTS_EXCEPTION_IDENTITY_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

enum role { RAISED = 1, HANDLED = 2, ENDED = 4, UNRETRIEVED = 8, CONTEXT = 16, LEFT_OUT = 32 };

struct identity {
    uint64_t key;
    unsigned roles; /* in which it was recorded; LEFT_OUT: it was counted only */
};

/* The identity of an exception, a fresh one for an object that was not seen in this recording. */
struct identity identity_of(PyObject *error);

/* Adds roles to an exception that `identity_of` was asked for just before. */
void identity_add(PyObject *error, unsigned roles);

#endif
