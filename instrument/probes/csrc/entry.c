/* The C functions that probes need: calls of clew's own functions that the program cannot see, and access to scripts
 * before they run.
 *
 * Each header in this directory implements one part; this file combines them into a module. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#include "around.h"
#include "bracket.h"
#include "immutable.h"
#include "main_script.h"
#include "quiet.h"
#include "scripts.h"
#include "stand_in.h"
#include "unseen.h"

#ifdef Py_GIL_DISABLED
#error "the probes rely on the GIL; an interpreter that can do without it uses what is in Python"
#endif

static PyMethodDef methods[] = {
    {"watch_main", watch_main, METH_O,
     PyDoc_STR("watch_main(offer): before a module's code runs, calls offer(code) until that returns a code object, whose\n"
               "constants the module then loads.")},
    {"watch_exec", watch_exec, METH_O,
     PyDoc_STR(
         "watch_exec(offer): whenever a module's code is given to exec outside of an import, calls offer(code, globals);\n"
         "a code object that it returns is executed instead.")},
    {"stand_in", stand_in, METH_VARARGS,
     PyDoc_STR(
         "stand_in(module, name, before, after): puts a builtin function in place of module.NAME that is like Around(that,\n"
         "before, after) but looks like the original, and returns it.")},
    {"put_method", put_method, METH_VARARGS,
     PyDoc_STR("put_method(owner, name, value): setattr, for a class made at run time by C that refuses it.")},
    {"unwatch", unwatch, METH_NOARGS, PyDoc_STR("unwatch(): takes the hook out.")},
    {"watching", watching, METH_NOARGS, PyDoc_STR("watching() -> bool: is the hook in place?")},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_entry",
    .m_doc = PyDoc_STR("What probes need beneath Python."),
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__entry(void) {
    exhaustion = PyTuple_Pack(2, PyExc_RecursionError, PyExc_MemoryError);
    refusal = PyTuple_Pack(3, PyExc_RecursionError, PyExc_MemoryError, PyExc_TypeError);
    if (exhaustion == NULL || refusal == NULL) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddType(module, &QuietType) < 0 || PyModule_AddType(module, &AroundType) < 0 ||
                           PyModule_AddType(module, &BracketType) < 0)) {
        Py_CLEAR(module);
    }
    return module;
}
