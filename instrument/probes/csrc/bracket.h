/* `Bracket`: the function that `wrapt.FunctionWrapper` calls for a function without bytecode. It calls the function
 * between probes and actions, at the same places as in rewritten code. Invariant: it needs no frame, and it raises
 * the exception of the function. */
#ifndef CLEW_BRACKET_H
#define CLEW_BRACKET_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject BracketType;

#endif
