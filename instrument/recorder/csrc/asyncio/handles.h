/* Creation and execution of asyncio handles. The run of a handle is a step of a task, or a separate scope.
 *
 * Invariants: all code runs with the GIL held; Python code of the program never runs while a record is stored. */
#ifndef CLEW_ASYNCIO_HANDLES_H
#define CLEW_ASYNCIO_HANDLES_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#include "asyncio/strands.h"
#include "hooks/operands.h"

/* ---- Handles ---- */

static inline bool is_native(PyObject *task) { return aio.task && PyObject_TypeCheck(task, aio.task); }

/* The outcome of a task is known by its strand's number: its address may be the next one's. */
static inline uint64_t outcome_of_strand(uint64_t strand) { return strand ^ keys.base[aio.outcome_space]; }

int act_end(struct operand *operand, PyObject *object, PyObject *other);

/* watch_handles(handle_class, made_site, run_site, handle_channel, future_channel, collectors, python_steps, foreign) */
PyObject *core_watch_handles(PyObject *module, PyObject *arguments);

#endif
