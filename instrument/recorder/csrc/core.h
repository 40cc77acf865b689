/* The header that every file of the recorder includes first. */

#ifndef CLEW_CORE_H
#define CLEW_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h> /* before the system's headers, because it selects their features */

#ifdef Py_GIL_DISABLED
#error "the C recorder relies on the GIL; an interpreter without it is not recorded"
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((noinline, cold))
/* Declares a variable that several files use. The extension does not export it, so code reaches it without a table. */
#define SHARED extern __attribute__((visibility("hidden")))

#endif
