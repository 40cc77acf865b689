/* Frames and lines of Python code, for facts: what their files belong to, their sites, and their texts.
 *
 * Invariant: no function here leaves an exception set. Each costs microseconds, so `stack_numbers.h` keeps what they return. */
#ifndef CLEW_FACTS_STACK_H
#define CLEW_FACTS_STACK_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_FRAMES 8
#define STACK_TEXT 2048

/* Whether `watch_stack` was called. */
bool stack_watched(void);

/* Writes one frame as an element of a JSON list of frames (see `clew.records.format.facts`). Returns the bytes written, without
 * a final zero; 0 if it does not fit. */
size_t frame_json(PyFrameObject *frame, char *out, size_t room);

/* The same of an instruction of code. */
size_t code_json(PyCodeObject *code, int instruction, char *out, size_t room);

/* Does code belong into a stack? Sets `last` if the stack ends here, at the event loop. */
bool code_shown(PyCodeObject *code, bool *last);

/* What a file belongs to; `origin` of `watch_stack` returns these numbers. */
enum origin { PROGRAM = 0, LIBRARY = 1, STANDARD_LIBRARY = 2, CLEW = 3, EVENT_LOOP = 4 };

/* What the file of a function belongs to; CLEW if that is not known. */
enum origin code_origin(PyCodeObject *code);

/* The site of a line of a frame's function; 0 if there is none. */
uint64_t line_site(PyFrameObject *frame, PyCodeObject *code, int line);

PyObject *core_watch_stack(PyObject *module, PyObject *arguments);

#endif
