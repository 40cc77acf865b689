#include "facts/exception_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define MOST_CHARACTERS 1000
#define MOST_ITEMS 20
#define MOST_BITS 512
#define MOST_DEPTH 3

/* The text of an attribute of a type's own dictionary; borrowed, NULL if it is no exact string. */
static PyObject *module_of(PyTypeObject *type) {
    PyObject *dict = type->tp_dict, *found = dict ? PyDict_GetItemString(dict, "__module__") : NULL;
    PyErr_Clear();
    return found && PyUnicode_CheckExact(found) ? found : NULL;
}

PyObject *type_name(PyTypeObject *type) {
    PyObject *name = NULL;
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        name = PyUnicode_FromString(type->tp_name);
    } else {
        PyObject *module = module_of(type), *qualname = ((PyHeapTypeObject *)type)->ht_qualname;
        if (!module || !PyUnicode_CompareWithASCIIString(module, "builtins")) name = Py_XNewRef(qualname);
        else if (!PyUnicode_CompareWithASCIIString(module, "asyncio.exceptions"))
            name = PyUnicode_FromFormat("asyncio.%U", qualname);
        else name = PyUnicode_FromFormat("%U.%U", module, qualname);
    }
    PyErr_Clear();
    return name;
}

/* The class's name alone, in angle brackets. */
static PyObject *named(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    const char *dot = strrchr(type->tp_name, '.');
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return PyUnicode_FromFormat("<%U>", ((PyHeapTypeObject *)type)->ht_name);
    return PyUnicode_FromFormat("<%s>", dot ? dot + 1 : type->tp_name);
}

static bool is_plain(PyObject *value) {
    return value == Py_None || PyBool_Check(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) ||
           (PyLong_CheckExact(value) && _PyLong_NumBits(value) <= MOST_BITS);
}

static PyObject *shown(PyObject *value, int depth);

static PyObject *tuple_shown(PyObject *tuple, int depth) {
    Py_ssize_t size = PyTuple_GET_SIZE(tuple), most = size < MOST_ITEMS ? size : MOST_ITEMS;
    PyObject *parts = PyList_New(0), *comma = PyUnicode_FromString(", "), *text = NULL;
    for (Py_ssize_t i = 0; parts && i < most; i++) {
        PyObject *part = shown(PyTuple_GET_ITEM(tuple, i), depth + 1);
        if (!part || PyList_Append(parts, part)) Py_CLEAR(parts);
        Py_XDECREF(part);
    }
    PyObject *all = parts && comma ? PyUnicode_Join(comma, parts) : NULL;
    if (all) text = PyUnicode_FromFormat(size == 1 ? "(%U,)" : most < size ? "(%U, ...)" : "(%U)", all);
    Py_XDECREF(all);
    Py_XDECREF(comma);
    Py_XDECREF(parts);
    return text;
}

/* As `repr` shows a builtin value. */
static PyObject *shown(PyObject *value, int depth) {
    if (PyUnicode_CheckExact(value)) {
        PyObject *part = PyUnicode_Substring(value, 0, MOST_CHARACTERS), *text = part ? PyObject_Repr(part) : NULL;
        Py_XDECREF(part);
        return text;
    }
    if (PyBytes_CheckExact(value)) {
        Py_ssize_t size = PyBytes_GET_SIZE(value);
        PyObject *part = PyBytes_FromStringAndSize(PyBytes_AS_STRING(value), size < MOST_CHARACTERS ? size : MOST_CHARACTERS);
        PyObject *text = part ? PyObject_Repr(part) : NULL;
        Py_XDECREF(part);
        return text;
    }
    if (PyTuple_CheckExact(value) && depth < MOST_DEPTH) return tuple_shown(value, depth);
    return is_plain(value) ? PyObject_Repr(value) : named(value);
}

static bool all_plain(int count, ...) {
    va_list values;
    va_start(values, count);
    bool yes = true;
    while (count--) {
        PyObject *value = va_arg(values, PyObject *);
        yes = yes && (!value || (is_plain(value) && !(PyUnicode_CheckExact(value) && PyUnicode_GET_LENGTH(value) > 4096)));
    }
    va_end(values);
    return yes;
}

/* May `str` be asked? Only of types whose `str` is the interpreter's own and reads these fields only. */
static bool is_safe(PyObject *error) {
    reprfunc own = Py_TYPE(error)->tp_str;
    if (PyObject_TypeCheck(error, (PyTypeObject *)PyExc_OSError) && own == ((PyTypeObject *)PyExc_OSError)->tp_str) {
        PyOSErrorObject *os = (PyOSErrorObject *)error;
        return os->myerrno && os->strerror && all_plain(4, os->myerrno, os->strerror, os->filename, os->filename2);
    }
    if (PyObject_TypeCheck(error, (PyTypeObject *)PyExc_UnicodeError) &&
        (own == ((PyTypeObject *)PyExc_UnicodeDecodeError)->tp_str ||
         own == ((PyTypeObject *)PyExc_UnicodeEncodeError)->tp_str)) {
        PyUnicodeErrorObject *unicode = (PyUnicodeErrorObject *)error;
        return unicode->object && (PyBytes_CheckExact(unicode->object) || PyUnicode_CheckExact(unicode->object)) &&
               unicode->encoding && unicode->reason && PyUnicode_CheckExact(unicode->encoding) &&
               PyUnicode_CheckExact(unicode->reason);
    }
    return false;
}

static PyObject *message_of(PyObject *error) {
    if (is_safe(error)) return PyObject_Str(error);
    PyObject *arguments = ((PyBaseExceptionObject *)error)->args;
    if (!arguments || !PyTuple_CheckExact(arguments) || !PyTuple_GET_SIZE(arguments)) return PyUnicode_FromString("");
    PyObject *first = PyTuple_GET_ITEM(arguments, 0);
    if (PyTuple_GET_SIZE(arguments) > 1) {
        /* The arguments of some types hold more than a message: a group's members, the source of a syntax error. */
        bool first_only = PyObject_TypeCheck(error, (PyTypeObject *)PyExc_BaseExceptionGroup) ||
                          PyObject_TypeCheck(error, (PyTypeObject *)PyExc_SyntaxError);
        if (!first_only) return tuple_shown(arguments, 0);
    }
    if (PyUnicode_CheckExact(first) && !PyObject_TypeCheck(error, (PyTypeObject *)PyExc_KeyError))
        return PyUnicode_Substring(first, 0, MOST_CHARACTERS);
    return shown(first, 0);
}

PyObject *exception_message(PyObject *error) {
    PyObject *text = message_of(error);
    PyErr_Clear();
    return text;
}
