#include "facts/outputs.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#include "facts/exceptions.h"
#include "facts/limits.h"
#include "facts/stack_numbers.h"
#include "hooks/methods.h"
#include "store/records.h"
#include "store/sampling.h"
#include "store/store.h"
#include "trace_format.h"

#define MOST_CHARACTERS 200
#define LOOK_AHEAD 2000 /* characters after those that are recorded, for what is to be redacted */
#define MOST_BYTES 65536
#define MOST_A_SECOND 1000

static const char too_many[] = "output lines: at most 1,000/s are recorded; the rest is skipped";

static struct {
    bool on;
    PyTypeObject *buffered, *file; /* Owned: types of binary files */
    Py_ssize_t buffer, raw;        /* where a text file keeps its binary file, and that one its descriptor's */
    PyObject *redact;              /* Owned: redact(text) -> text */
    PyObject *pending;             /* Owned: {thread and descriptor: unfinished line} */
    uint64_t epoch;                /* the recording of `pending` */
    uint32_t channel;              /* of gaps */
    struct limit limit;
    struct method text_write, text_flush, buffered_write;
    struct patched os_write;
} out;

/* Above 0 while this thread is in a write or flush that was observed already, or whose lines are recorded otherwise. */
static __thread unsigned inside, muted;

/* ---- Lines ---- */

static PyObject *redacted(PyObject *line) {
    PyThreadState *state = PyThreadState_Get();
    PyThreadState_EnterTracing(state);
    PyObject *found = PyObject_CallOneArg(out.redact, line);
    PyThreadState_LeaveTracing(state);
    if (!found && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
    PyErr_Clear();
    if (found && !PyUnicode_Check(found)) Py_CLEAR(found);
    return found;
}

static void line_put(int fd, PyObject *line) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(line), end = length;
    while (end && Py_UNICODE_ISSPACE(PyUnicode_READ_CHAR(line, end - 1))) end--;
    Py_ssize_t begin = end ? PyUnicode_FindChar(line, '\r', 0, end, -1) + 1 : 0; /* what a terminal shows last */
    if (begin < 0) begin = 0;
    if (end == begin) return;
    if (!limit_admits(&out.limit, MOST_A_SECOND)) {
        if (out.limit.dropped == 1) limit_begin_gap(&out.limit, stack_site(), out.channel, too_many);
        return;
    }
    limit_end_gap(&out.limit, out.channel, too_many);
    if (end - begin > MOST_CHARACTERS + LOOK_AHEAD) end = begin + MOST_CHARACTERS + LOOK_AHEAD;
    PyObject *part = PyUnicode_Substring(line, begin, end), *text = part ? redacted(part) : NULL, *bytes = NULL;
    bool fits = text && PyUnicode_GET_LENGTH(text) <= MOST_CHARACTERS;
    if (text && !fits) Py_SETREF(text, PyUnicode_Substring(text, 0, MOST_CHARACTERS));
    if (text) bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (bytes) {
        exception_handled();
        put_extended(KIND_OUTPUT, stack_site(), (uint64_t)fd, 0, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes),
                     fits ? 0 : FLAG_TRUNCATED);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    Py_XDECREF(part);
    PyErr_Clear();
}

/* A new reference to the line that this thread began, with more of it; NULL without memory. */
static PyObject *joined(PyObject *known, PyObject *text, Py_ssize_t begin, Py_ssize_t end) {
    Py_ssize_t most = MOST_CHARACTERS + LOOK_AHEAD + 1, length = known ? PyUnicode_GET_LENGTH(known) : 0;
    Py_ssize_t last = end - begin > most ? PyUnicode_FindChar(text, '\r', begin, end, -1) : -1;
    if (last > begin && last + 1 < end) begin = last; /* a progress bar: only its end matters */
    if (known && length >= most && PyUnicode_FindChar(text, '\r', begin, end, 1) < 0) return Py_NewRef(known);
    if (end - begin > most) end = begin + most;
    PyObject *part = PyUnicode_Substring(text, begin, end);
    if (!known || !part) return part;
    bool again = PyUnicode_GET_LENGTH(part) > 1 && PyUnicode_READ_CHAR(part, 0) == '\r';
    PyObject *all = again ? Py_NewRef(part) : PyUnicode_Concat(known, part);
    Py_DECREF(part);
    return all;
}

static void text_put(int fd, PyObject *text) {
    if (out.epoch != store.epoch) {
        out.epoch = store.epoch;
        PyDict_Clear(out.pending);
    }
    PyObject *key = PyLong_FromUnsignedLong(4ul * self.serial + (unsigned)fd);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text), begin = 0;
    while (key && begin < length) {
        Py_ssize_t end = PyUnicode_FindChar(text, '\n', begin, length, 1);
        PyObject *known = Py_XNewRef(PyDict_GetItemWithError(out.pending, key));
        PyObject *line = joined(known, text, begin, end < 0 ? length : end);
        if (end < 0) {
            if (line) PyDict_SetItem(out.pending, key, line);
            end = length;
        } else {
            if (known) PyDict_DelItem(out.pending, key);
            if (line) line_put(fd, line);
        }
        Py_XDECREF(line);
        Py_XDECREF(known);
        begin = end + 1;
    }
    Py_XDECREF(key);
}

static bool is_wanted(void) {
    return out.on && store.active && !inside && !muted && self.flow.state != FLOW_DROPPED && thread_known();
}

/* What was written, after the call: a text or bytes. */
static COLD void written(int fd, PyObject *data, Py_ssize_t size) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    inside++;
    if (PyUnicode_Check(data)) {
        text_put(fd, data);
    } else if (PyBytes_CheckExact(data) || PyByteArray_CheckExact(data) || PyMemoryView_Check(data)) {
        Py_buffer view;
        if (!PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)) {
            Py_ssize_t most = view.len < MOST_BYTES ? view.len : MOST_BYTES;
            PyObject *text = PyUnicode_DecodeUTF8(view.buf, size >= 0 && size < most ? size : most, "replace");
            PyBuffer_Release(&view);
            if (text) text_put(fd, text);
            Py_XDECREF(text);
        }
    }
    inside--;
    PyErr_Restore(type, value, traceback);
}

/* ---- Which descriptor a file writes to ---- */

static int standard(PyObject *file) {
    if (!file || !Py_IS_TYPE(file, out.file)) return -1;
    int fd = *(int *)(file + 1);
    return fd == 1 || fd == 2 ? fd : -1;
}

static int descriptor_of_buffered(PyObject *file) {
    return file && Py_IS_TYPE(file, out.buffered) ? standard(*(PyObject **)((char *)file + out.raw)) : standard(file);
}

static int descriptor_of_text(PyObject *file) { return descriptor_of_buffered(*(PyObject **)((char *)file + out.buffer)); }

/* ---- The methods ---- */

static PyObject *text_write(PyObject *file, PyObject *text) {
    int fd = descriptor_of_text(file);
    if (LIKELY(fd < 0)) return out.text_write.original(file, text);
    inside++;
    PyObject *result = out.text_write.original(file, text);
    inside--;
    if (result && PyUnicode_Check(text) && is_wanted()) written(fd, text, -1);
    return result;
}

static PyObject *text_flush(PyObject *file, PyObject *ignored) {
    bool ours = descriptor_of_text(file) > 0;
    inside += ours;
    PyObject *result = out.text_flush.original(file, ignored);
    inside -= ours;
    return result;
}

static PyObject *buffered_write(PyObject *file, PyObject *data) {
    int fd = descriptor_of_buffered(file);
    PyObject *result = out.buffered_write.original(file, data);
    if (UNLIKELY(fd > 0) && result && is_wanted()) written(fd, data, -1);
    return result;
}

static PyObject *os_write(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    PyObject *result = PyObject_Vectorcall(out.os_write.original, arguments, (size_t)count, names);
    if (count != 2 || names || !result || !PyLong_CheckExact(arguments[0]) || !PyLong_CheckExact(result)) return result;
    long fd = PyLong_AsLong(arguments[0]);
    if (fd == -1) PyErr_Clear();
    if (UNLIKELY(fd == 1 || fd == 2) && is_wanted()) written((int)fd, arguments[1], PyLong_AsSsize_t(result));
    return result;
}

/* ---- For Python ---- */

/* Where objects of a type keep the attribute, which C code stores; -1 and an error if they do not. */
static Py_ssize_t member_offset(PyTypeObject *type, const char *name) {
    PyObject *member = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t offset =
        member && Py_IS_TYPE(member, &PyMemberDescr_Type) ? ((PyMemberDescrObject *)member)->d_member->offset : -1;
    Py_XDECREF(member);
    if (offset < 0) PyErr_Format(PyExc_TypeError, "%s has no field %s", type->tp_name, name);
    return offset;
}

static bool has_shape(PyTypeObject *type, const char *name, int flags) {
    PyMethodDef *found = method_find(type, name);
    if (found && found->ml_flags == flags) return true;
    PyErr_Format(PyExc_TypeError, "%s.%s is not the method it was", type->tp_name, name);
    return false;
}

/* watch_outputs(text file, os.write, redact, channel): the file is an open `TextIOWrapper` of a `BufferedWriter` of a
 * `FileIO`. False when it is of another shape than the one that is known. */
PyObject *core_watch_outputs(PyObject *module, PyObject *arguments) {
    PyObject *text, *builtin, *redact;
    unsigned int channel;
    if (!PyArg_ParseTuple(arguments, "OO!OI:watch_outputs", &text, &PyCFunction_Type, &builtin, &redact, &channel)) return NULL;
    if (out.on) Py_RETURN_NONE;
    PyTypeObject *type = Py_TYPE(text);
    if (!has_shape(type, "write", METH_O) || !has_shape(type, "flush", METH_NOARGS)) return NULL;
    if ((out.buffer = member_offset(type, "buffer")) < 0) return NULL;
    PyObject *buffered = *(PyObject **)((char *)text + out.buffer);
    if (!buffered || !has_shape(Py_TYPE(buffered), "write", METH_O)) return NULL;
    if ((out.raw = member_offset(Py_TYPE(buffered), "raw")) < 0) return NULL;
    PyObject *file = *(PyObject **)((char *)buffered + out.raw), *number = PyObject_CallMethod(file, "fileno", NULL);
    long fd = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    if (PyErr_Occurred()) return NULL;
    if (fd != *(int *)(file + 1)) return PyErr_Format(PyExc_TypeError, "%s is not what it was", Py_TYPE(file)->tp_name);
    out.pending = PyDict_New();
    if (!out.pending) return NULL;
    out.buffered = (PyTypeObject *)Py_NewRef(Py_TYPE(buffered));
    out.file = (PyTypeObject *)Py_NewRef(Py_TYPE(file));
    out.redact = Py_NewRef(redact);
    out.channel = channel;
    if (!method_replace(type, "write", text_write, &out.text_write) ||
        !method_replace(type, "flush", text_flush, &out.text_flush) ||
        !method_replace(out.buffered, "write", buffered_write, &out.buffered_write) ||
        !builtin_patch(builtin, &out.os_write, os_write))
        return NULL;
    out.on = true;
    Py_RETURN_NONE;
}

PyObject *core_mute_outputs(PyObject *module, PyObject *on) {
    if (on == Py_True) muted++;
    else if (muted) muted--;
    Py_RETURN_NONE;
}

PyObject *core_outputs_over(PyObject *module, PyObject *ignored) {
    for (int fd = 1; fd <= 2 && out.on && store.active && out.epoch == store.epoch; fd++) {
        PyObject *key = PyLong_FromUnsignedLong(4ul * self.serial + (unsigned)fd);
        PyObject *line = key ? Py_XNewRef(PyDict_GetItemWithError(out.pending, key)) : NULL;
        if (line) {
            PyDict_DelItem(out.pending, key);
            line_put(fd, line);
        }
        Py_XDECREF(line);
        Py_XDECREF(key);
    }
    if (out.on) limit_end_gap(&out.limit, out.channel, too_many);
    PyErr_Clear();
    Py_RETURN_NONE;
}
