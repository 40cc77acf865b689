/* The calling thread's Python stack, for facts: the line of the program that made a call, and the frames around it.
 *
 * Invariant: no function here leaves an exception set, or changes one that is set. Each costs microseconds, so only paths
 * that are slow anyway (a wait, a cancellation, an exception) call them. */
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

/* The site of the innermost line of the program's own code on the stack, or of a library's if there is none. 0 if neither
 * is on it. The stack ends where asyncio runs a callback. */
uint64_t stack_site(void);

/* Writes the stack as a JSON list of frames (see `clew.records.format.facts`), innermost first and without clew's own. Returns
 * the bytes written; there is no final zero. `room` is at least 3. */
size_t stack_json(char *out, size_t room);

/* Of one frame, the same as an element of the list; 0 if it does not fit. */
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
PyObject *core_stack_site(PyObject *module, PyObject *ignored);
PyObject *core_stack_json(PyObject *module, PyObject *ignored);

#endif
