#include "facts/stack.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "store/store.h"
#include "store/thread_definition.h"

static struct {
    PyObject *origin; /* Owned: origin(file name) -> an `enum origin` */
    PyObject *site;   /* Owned: site(code, globals, line) -> number of a site */
    PyObject *known;  /* Owned: {file name: number} */
    PyObject *sites;  /* Owned: {(code, line): site} */
} places;

static long long number_in(PyObject *dict, PyObject *key) {
    PyObject *found = PyDict_GetItemWithError(dict, key);
    return found ? PyLong_AsLongLong(found) : -1;
}

enum origin code_origin(PyCodeObject *code) {
    if (!places.known) return CLEW;
    long long known = number_in(places.known, code->co_filename);
    if (known >= 0) return (enum origin)known;
    PyObject *number = PyErr_Occurred() ? NULL : PyObject_CallOneArg(places.origin, code->co_filename);
    if (number) PyDict_SetItem(places.known, code->co_filename, number);
    known = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    PyErr_Clear();
    return known >= 0 ? (enum origin)known : LIBRARY;
}

uint64_t line_site(PyFrameObject *frame, PyCodeObject *code, int number) {
    if (!places.sites) return 0;
    PyObject *line = PyLong_FromLong(number > 0 ? number : code->co_firstlineno);
    PyObject *key = line ? PyTuple_Pack(2, code, line) : NULL;
    long long known = key ? number_in(places.sites, key) : -1;
    if (key && known < 0 && !PyErr_Occurred()) {
        PyObject *globals = PyFrame_GetGlobals(frame);
        PyObject *site = PyObject_CallFunctionObjArgs(places.site, code, globals, line, NULL);
        if (site) PyDict_SetItem(places.sites, key, site);
        known = site ? PyLong_AsLongLong(site) : -1;
        Py_XDECREF(site);
        Py_XDECREF(globals);
    }
    Py_XDECREF(line);
    Py_XDECREF(key);
    PyErr_Clear();
    return known > 0 ? (uint64_t)known : 0;
}

size_t code_json(PyCodeObject *code, int instruction, char *out, size_t room) {
    char file[600], function[300], text[1000];
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
    size_t file_size = utf8 ? json_escape(file, sizeof file, utf8, (size_t)size) : 0;
    utf8 = PyUnicode_AsUTF8AndSize(code->co_qualname, &size);
    size_t function_size = utf8 ? json_escape(function, sizeof function, utf8, (size_t)size) : 0;
    int line = PyCode_Addr2Line(code, instruction), end_line = 0, column = -1, end_column = -1;
    if (instruction >= 0 && PyCode_Addr2Location(code, instruction, &line, &column, &end_line, &end_column) && end_line != line)
        end_column = -1;
    if (line < 0) line = code->co_firstlineno; /* an instruction of ours */
    PyErr_Clear();
    int written = snprintf(text, sizeof text, "[\"%.*s\",%d,\"%.*s\",%d,%d]", (int)file_size, file, line, (int)function_size,
                           function, column, end_column);
    if (written <= 0 || (size_t)written >= sizeof text || (size_t)written > room) return 0;
    memcpy(out, text, (size_t)written);
    return (size_t)written;
}

size_t frame_json(PyFrameObject *frame, char *out, size_t room) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    size_t written = code_json(code, PyFrame_GetLasti(frame), out, room);
    Py_DECREF(code);
    return written;
}

bool code_shown(PyCodeObject *code, bool *last) {
    enum origin origin = code_origin(code);
    *last = origin == EVENT_LOOP;
    return !*last && origin != CLEW;
}

/* watch_stack(origin, site): see `places`. */
PyObject *core_watch_stack(PyObject *module, PyObject *arguments) {
    PyObject *origin, *site;
    if (!PyArg_ParseTuple(arguments, "OO:watch_stack", &origin, &site)) return NULL;
    Py_XSETREF(places.origin, Py_NewRef(origin));
    Py_XSETREF(places.site, Py_NewRef(site));
    Py_XSETREF(places.sites, PyDict_New());
    Py_XSETREF(places.known, PyDict_New());
    if (!places.known || !places.sites) return NULL;
    Py_RETURN_NONE;
}

bool stack_watched(void) { return places.known; }
