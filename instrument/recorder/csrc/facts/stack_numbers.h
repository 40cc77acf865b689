/* The calling thread's Python stack, for facts: the line of the program that made a call, and the number of the frames around
 * it. The frames of a stack are written once, later facts name its number.
 *
 * A stack has neither clew's own frames nor those from where asyncio runs a callback on. Invariant: equal numbers in one
 * recording of a process mean the same frames at the same instructions. No function here leaves an exception set, or changes
 * one that is set. */
#ifndef CLEW_FACTS_STACK_NUMBERS_H
#define CLEW_FACTS_STACK_NUMBERS_H

#include "core.h"

#include <stddef.h>
#include <stdint.h>

/* What a frame at one instruction waits in. */
enum { ELSEWHERE = 0, IN_SLEEP = 1, IN_STREAM = 2 };

struct call_stack {
    uint64_t site; /* of the innermost line of the program's own code, or of a library's if there is none; 0 if neither */
    uint8_t origin;
    uint8_t innermost; /* what its innermost frame waits in */
    uint32_t number;   /* 0 when it has none */
};

/* The stack up to the first line of the program's own code. */
void stack_capture(struct call_stack *stack);

/* The whole stack, however deep that line is. */
void stack_capture_whole(struct call_stack *stack);

/* Only the site. */
uint64_t stack_site(void);

/* Writes a name and a number: printf would take most of the time of a task's WAIT. Returns the bytes written, those of the name
 * and at most 20, without a final zero. */
size_t put_number(const char *name, uint64_t number, char *out);

/* Writes the fields `"stack":…` and, the first time in a recording, `"at":…` of a fact, with a comma before them. Returns the
 * bytes written. */
size_t stack_fields(const struct call_stack *stack, char *out, size_t room);

/* A HOLD of a resource, at the program's line, else at `site`. `fields` is JSON with a comma before each. */
void stack_hold(uint64_t site, uint64_t key, uint32_t channel, const char *fields, size_t length);

PyObject *core_stack_site(PyObject *module, PyObject *ignored);
PyObject *core_hold(PyObject *module, PyObject *arguments);

#endif
