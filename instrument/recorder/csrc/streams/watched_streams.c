#include "streams/watched_streams.h"

#include <errno.h>
#include <stdbool.h>

#include "hooks/methods.h"
#include "store/store.h"
#include "streams/byte_offsets.h"
#include "streams/stream_names.h"
#include "streams/streams.h"
#include "streams/transfer_bytes.h"
#include "streams/transfer_table.h"
#include "streams/transfers.h"

static destructor socket_dealloc;

static void socket_ends(PyObject *object) {
    stream_close(own_descriptor(object));
    socket_dealloc(object);
}

static initproc file_init;

static int file_begins(PyObject *object, PyObject *arguments, PyObject *keywords) {
    int failed = file_init(object, arguments, keywords);
    PyObject *name = !failed && PyTuple_GET_SIZE(arguments) ? PyTuple_GET_ITEM(arguments, 0) : NULL;
    if (name && !PyLong_Check(name)) stream_opened(own_descriptor(object));
    return failed;
}

PyObject *core_watch_streams(PyObject *module, PyObject *arguments) {
    unsigned long long salt;
    if (!PyArg_ParseTuple(arguments, "K(III)(III):watch_streams", &salt, &streams.socket_channel, &streams.socket_send,
                          &streams.socket_receive, &streams.pipe_channel, &streams.pipe_send, &streams.pipe_receive))
        return NULL;
    streams.salt = salt;
    PyObject *names = PyList_New(0);
    for (int i = 0; names && i < TRANSFER_COUNT; i++) {
        PyObject *name = PyUnicode_FromString(transfers[i].owner == OF_MODULE ? transfers[i].name : "");
        if (!name || PyList_Append(names, name)) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

PyObject *core_watch_transfer(PyObject *module, PyObject *arguments) {
    int number;
    PyObject *function;
    if (!PyArg_ParseTuple(arguments, "iO!:watch_transfer", &number, &PyCFunction_Type, &function)) return NULL;
    if (number < 0 || number >= TRANSFER_COUNT || transfers[number].owner != OF_MODULE)
        return PyErr_Format(PyExc_ValueError, "there is no function %d", number);
    if (!transfers[number].patched.original && !builtin_patch(function, &transfers[number].patched, transfer_functions[number]))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *core_watch_transfers(PyObject *module, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject *number = PyObject_CallMethod(object, "fileno", NULL); /* up to 3.11 it makes a socket's type ready, too */
    if (!number) return NULL;
    long fd = as_number(number);
    Py_DECREF(number);
    int owner = method_find(type, "_accept") ? OF_SOCKET : OF_FILE;
    if (fd != own_descriptor(object)) return PyErr_Format(PyExc_TypeError, "%s is not what it was", type->tp_name);
    for (int i = 0; i < TRANSFER_COUNT; i++)
        if (transfers[i].owner == owner && !transfer_watch(type, i)) return NULL;
    if (owner == OF_SOCKET && !socket_dealloc) {
        socket_dealloc = type->tp_dealloc;
        type->tp_dealloc = socket_ends;
    }
    if (owner == OF_FILE && !file_init) {
        file_init = type->tp_init;
        if (!patch_wrapper(type, "__init__", file_begins)) return NULL;
        type->tp_init = file_begins;
    }
    PyType_Modified(type);
    Py_RETURN_NONE;
}

PyObject *core_hand_streams(PyObject *module, PyObject *descriptors) {
    if (!PyTuple_Check(descriptors) || PyTuple_GET_SIZE(descriptors) > 3)
        return PyErr_Format(PyExc_TypeError, "hand_streams takes a tuple of up to three descriptors");
    PyObject *told = PyList_New(0);
    handed.count = 0;
    for (Py_ssize_t i = 0; told && i < PyTuple_GET_SIZE(descriptors); i++) {
        long fd = as_number(PyTuple_GET_ITEM(descriptors, i));
        struct stream *stream = stream_of(fd);
        struct course *out = stream ? &stream->out : NULL, *in = stream ? &stream->in : NULL;
        PyObject *one = NULL;
        if (stream && !out->state && !in->state && !out->busy && !in->busy && store.active) {
            struct course *both[2] = {out, in};
            for (int way = 0; way < 2; way++) {
                course_record(stream, both[way], both[way]->at, ENDLESS);
                both[way]->state = HANDED;
            }
            handed.fd[handed.count++] = fd;
            one = Py_BuildValue("(iKKiKKi)", stream->channel == streams.pipe_channel, (unsigned long long)out->key,
                                (unsigned long long)out->at, out->begun, (unsigned long long)in->key,
                                (unsigned long long)in->at, in->begun);
        } else {
            one = Py_NewRef(Py_None);
        }
        if (!one || PyList_Append(told, one)) Py_CLEAR(told);
        Py_XDECREF(one);
    }
    return told;
}

PyObject *core_adopt_stream(PyObject *module, PyObject *arguments) {
    int fd, is_pipe, sent, received;
    const char *mark;
    unsigned long long out, out_at, in, in_at;
    if (!PyArg_ParseTuple(arguments, "ispKKpKKp:adopt_stream", &fd, &mark, &is_pipe, &out, &out_at, &sent, &in, &in_at,
                          &received))
        return NULL;
    struct stream *stream = NULL;
    for (int other = 0; other < fd && other < streams.room; other++) {
        stream = streams.of[other];
        if (stream && stream->adopted && stream->out.key == out && stream->in.key == in) {
            stream_share(other, fd);
            Py_RETURN_NONE;
        }
    }
    if (stdio_used(true) || stdio_used(false) || !(stream = stream_new(fd, NAMED, is_pipe))) Py_RETURN_NONE;
    stream->adopted = true;
    stream->out.key = out, stream->out.at = out_at, stream->out.begun = sent;
    stream->in.key = in, stream->in.at = in_at, stream->in.begun = received;
    course_mark(stream, &stream->out, mark, "");
    course_mark(stream, &stream->in, mark, "");
    Py_RETURN_NONE;
}

PyObject *core_forget_stream(PyObject *module, PyObject *fd) {
    stream_drop(as_number(fd));
    Py_RETURN_NONE;
}

PyObject *core_mute_streams(PyObject *module, PyObject *on) {
    courses_muted = on == Py_True ? courses_muted + 1 : courses_muted - (courses_muted > 0);
    Py_RETURN_NONE;
}
