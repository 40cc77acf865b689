/* Places in code: the innermost frames of the calling thread, kept for a few nanoseconds each and described later, if ever. */
#ifndef CLEW_FACTS_CODE_PLACES_H
#define CLEW_FACTS_CODE_PLACES_H

#include "core.h"

#include <stddef.h>
#include <stdint.h>

struct code_place {
    PyCodeObject *code; /* Owned by the code that keeps the place */
    int instruction;    /* offset in bytes */
};

/* Borrowed, only to compare: the `self` of the calling thread's innermost frame; NULL if it has none, and from 3.14 on. */
const void *code_self(void);

/* Writes at most `room` places, innermost first, with new references to their code. Returns their number. */
uint32_t code_places(struct code_place *at, uint32_t room);

/* Writes places as a JSON list of frames, without clew's own. Returns the bytes written; `room` is at least 3. */
size_t code_places_json(const struct code_place *at, uint32_t places, char *out, size_t room);

#endif
