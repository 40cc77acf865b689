#include "store/thread_definition.h"

#include <stdbool.h>
#include <stdio.h>

#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

static PyObject *python_threads; /* Owned: `threading._active`, thread objects by ident; NULL until it is found */

size_t json_escape(char *out, size_t room, const char *text, size_t length) {
    size_t used = 0;
    for (size_t i = 0; i < length && used + sizeof "\\u0000" <= room; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            out[used++] = '\\';
            out[used++] = (char)c;
        } else if (c < 0x20) {
            used += (size_t)sprintf(out + used, "\\u%04x", c);
        } else {
            out[used++] = (char)c;
        }
    }
    return used;
}

/* The instance dictionary of the calling thread's `threading.Thread`, a new reference, or NULL. It is looked up in exact
 * dictionaries by exact keys: no property, no `__getattr__`, no `current_thread()` that would make up a thread. */
static PyObject *python_thread_dict(void) {
    if (!python_threads || PyErr_Occurred()) return NULL;
    PyObject *dict = NULL, *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = ident ? PyDict_GetItemWithError(python_threads, ident) : NULL;
    if (thread) {
        Py_INCREF(thread);
        dict = PyObject_GenericGetDict(thread, NULL);
        Py_DECREF(thread);
    }
    Py_XDECREF(ident);
    if (dict && !PyDict_CheckExact(dict)) Py_CLEAR(dict);
    PyErr_Clear();
    return dict;
}

void thread_define(void) {
    char name[256], text[512];
    size_t length = 0;
    bool daemon = false;
    PyObject *dict = python_thread_dict();
    if (dict) {
        PyObject *value = PyDict_GetItemString(dict, "_name");
        Py_ssize_t bytes;
        const char *utf8 = value && PyUnicode_CheckExact(value) ? PyUnicode_AsUTF8AndSize(value, &bytes) : NULL;
        if (utf8) length = json_escape(name, sizeof name, utf8, (size_t)bytes);
        daemon = PyDict_GetItemString(dict, "_daemonic") == Py_True;
        PyErr_Clear();
        Py_DECREF(dict);
    }
    int written = snprintf(text, sizeof text, "{\"name\": \"%.*s\", \"native_id\": %llu, \"daemon\": %s}", (int)length, name,
                           (unsigned long long)self.native_id, daemon ? "true" : "false");
    define(KIND_THREAD, self.serial, text, (size_t)written);
}

void find_python_threads(void) {
    if (python_threads) return;
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *found = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    Py_XDECREF(threading);
    if (found && PyDict_CheckExact(found)) Py_XSETREF(python_threads, found);
    else Py_XDECREF(found);
    PyErr_Clear();
}
