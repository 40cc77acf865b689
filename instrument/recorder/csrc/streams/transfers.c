#include "streams/transfers.h"

#include <fcntl.h>
#include <stdint.h>

#include "streams/byte_offsets.h"
#include "streams/stream_names.h"
#include "streams/streams.h"
#include "streams/transfer_bytes.h"

static PyObject *transfer_acts(struct transfer *transfer, PyObject *self_object, PyObject *const *arguments, Py_ssize_t count,
                               PyObject *names) {
    long fd = -1, copy;
    uint64_t length = 0;
    struct stream *stream;
    PyObject *result;
    if (transfer->does <= RECEIVES_ALL) {
        const char *name = transfer->does == SENDS_COUNT ? "out_fd" : NULL;
        fd = transfer->owner == OF_MODULE ? as_number(argument(arguments, count, names, 0, name)) : own_descriptor(self_object);
        if (UNLIKELY(transfer->does == SENDS_LIST)) return transfer_list(transfer, fd, self_object, arguments, count, names);
        stream = stream_of(fd);
        if (!stream) return transfer_call(transfer, self_object, arguments, count, names);
        if (transfer->does == SENDS_COUNT) {
            long number = as_number(argument(arguments, count, names, transfer->data, "count"));
            length = number > 0 ? (uint64_t)number : 0;
        } else if (transfer->does < SENDS_COUNT) {
            length = buffer_length(argument(arguments, count, names, transfer->data, NULL));
        }
        struct given given = {self_object, arguments, count, names, NULL, NULL};
        return transfer_bytes(transfer, stream, length, flags_of(transfer, arguments, count, names), &given);
    }
    switch (transfer->does) {
    case CLOSES:
        fd = transfer->owner == OF_MODULE ? as_number(argument(arguments, count, names, 0, "fd")) : own_descriptor(self_object);
        if (stream_at(fd) && transfer->owner == OF_FILE) {
            PyObject *closes = PyObject_GetAttrString(self_object, "closefd");
            if (closes == Py_False) fd = -1;
            Py_XDECREF(closes);
            PyErr_Clear();
        }
        stream_close(fd);
        break;
    case SHUTS: {
        long how = count ? as_number(arguments[0]) : -1;
        fd = own_descriptor(self_object);
        if (how == SHUT_WR || how == SHUT_RDWR) stream_end(stream_of(fd));
        break;
    }
    case CLOSES_RANGE: {
        long low = count == 2 ? as_number(arguments[0]) : 0, high = count == 2 ? as_number(arguments[1]) : 0;
        for (fd = low < 0 ? 0 : low; fd < high && fd < streams.room; fd++) stream_close(fd);
        break;
    }
    case STARTS: {
        /* The program's three streams, and what is to be kept open. */
        static const int given[3] = {6, 9, 11};
        unsigned replaced = 0;
        for (int i = 0; i < 3 && given[i] < count; i++) {
            fd = as_number(arguments[given[i]]);
            stream_pass(fd);
            replaced |= (unsigned)(fd >= 0) << i;
        }
        for (Py_ssize_t i = 0; count > 3 && PyTuple_Check(arguments[3]) && i < PyTuple_GET_SIZE(arguments[3]); i++)
            stream_give(as_number(PyTuple_GET_ITEM(arguments[3], i)));
        stream_give_inherited(count > 2 && PyObject_IsTrue(arguments[2]) > 0 ? 3 : streams.room, replaced);
        break;
    }
    case STARTS_ANY:
        stream_give_inherited(streams.room, 0);
        give_actions(names ? argument(arguments, count, names, PY_SSIZE_T_MAX, "file_actions") : NULL);
        break;
    case SPLICES:
        for (Py_ssize_t i = 0; i < 2; i++) {
            stream = stream_of(as_number(argument(arguments, count, names, i, i ? "dst" : "src")));
            if (stream) course_lose(stream, i ? &stream->out : &stream->in);
        }
        break;
    case WAKES:
        stream_give(count ? as_number(arguments[0]) : -1); /* a signal writes to it unseen */
        break;
    case CONNECTS:
        fd = own_descriptor(self_object);
        break;
    case COPIES:
    case COPIES_TO:
        fd = as_number(argument(arguments, count, names, 0, "fd"));
        break;
    }
    result = transfer_call(transfer, self_object, arguments, count, names);
    switch (transfer->does) {
    case CONNECTS:
        if (fd >= 0 && own_descriptor(self_object) == fd) stream_connect(fd, AS_CONNECTED);
        break;
    case ACCEPTS:
        if (result && PyTuple_Check(result) && (fd = as_number(PyTuple_GET_ITEM(result, 0))) >= 0)
            stream_connect(fd, AS_ACCEPTED);
        break;
    case MAKES_PIPE:
        if (result && PyTuple_Check(result) && PyTuple_GET_SIZE(result) == 2)
            stream_pair(as_number(PyTuple_GET_ITEM(result, 0)), as_number(PyTuple_GET_ITEM(result, 1)), true);
        break;
    case MAKES_PAIR:
        if (result && PyTuple_Check(result) && PyTuple_GET_SIZE(result) == 2) {
            int one = own_descriptor(PyTuple_GET_ITEM(result, 0)), other = own_descriptor(PyTuple_GET_ITEM(result, 1));
            if (is_byte_stream(one)) stream_pair(one, other, false);
        }
        break;
    case COPIES:
    case COPIES_TO:
        if (result && (copy = as_number(result)) >= 0) stream_share(fd, copy);
        break;
    case OPENS:
        stream_opened(as_number(result));
        break;
    case CONTROLS: {
        long does = count > 1 ? as_number(arguments[1]) : -1;
        if ((does != F_DUPFD && does != F_DUPFD_CLOEXEC) || !result || (copy = as_number(result)) < 0) break;
        PyObject *number = PyIndex_Check(arguments[0]) ? NULL : PyObject_CallMethod(arguments[0], "fileno", NULL);
        stream_share(as_number(number ? number : arguments[0]), copy);
        Py_XDECREF(number);
        break;
    }
    }
    return result;
}

#define ACT(name, owner, does, data, flags)                                                                     \
    static PyObject *owner##_##name##_acts(PyObject *self_object, PyObject *const *arguments, Py_ssize_t count, \
                                           PyObject *names) {                                                   \
        return transfer_acts(&transfers[owner##_##name], self_object, arguments, count, names);                 \
    }
TRANSFERS(ACT)

static PyObject *socket_dup_acts(PyObject *self_object, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    return transfer_acts(&transfers[SOCKET_DUP], self_object, arguments, count, names);
}

#define FUNCTION(name, owner, does, data, flags) owner##_##name##_acts,
const method transfer_functions[TRANSFER_COUNT] = {TRANSFERS(FUNCTION) socket_dup_acts};

/* The methods of sockets that are called most. */
static inline PyObject *transfer_hot(enum transfer_number number, PyObject *object, PyObject *tuple, PyObject *keywords) {
    struct transfer *transfer = &transfers[number];
    struct given given = {object, ((PyTupleObject *)tuple)->ob_item, PyTuple_GET_SIZE(tuple), NULL, tuple, keywords};
    struct stream *stream = stream_of(own_descriptor(object));
    if (!stream) return given_call(transfer, &given);
    PyObject *flags = given.count > transfer->flags ? given.arguments[transfer->flags] : NULL;
    if (UNLIKELY(keywords) && !flags) flags = PyDict_GetItemString(keywords, "flags");
    uint64_t length = transfer->does <= SENDS_COUNT && given.count ? buffer_length(given.arguments[0]) : 0;
    return transfer_bytes(transfer, stream, length, flags ? as_number(flags) : 0, &given);
}

#define HOT(name)                                                    \
    static PyObject *hot_##name(PyObject *object, PyObject *tuple) { \
        return transfer_hot(OF_SOCKET_##name, object, tuple, NULL);  \
    }
HOT(send)
HOT(sendall)
HOT(recv)

static PyObject *hot_recv_into(PyObject *object, PyObject *tuple, PyObject *keywords) {
    return transfer_hot(OF_SOCKET_recv_into, object, tuple, keywords);
}

static const struct {
    enum transfer_number number;
    int flags;
    PyCFunction function;
} hot_transfers[] = {
    {OF_SOCKET_send, METH_VARARGS, hot_send},
    {OF_SOCKET_sendall, METH_VARARGS, hot_sendall},
    {OF_SOCKET_recv, METH_VARARGS, hot_recv},
    {OF_SOCKET_recv_into, METH_VARARGS | METH_KEYWORDS, (PyCFunction)(void (*)(void))hot_recv_into},
};

bool transfer_watch(PyTypeObject *type, int number) {
    struct transfer *transfer = &transfers[number];
    if (transfer->patched.original || transfer->plain.original) return true;
    PyMethodDef *found = method_find(type, transfer->name);
    for (size_t i = 0; found && i < sizeof hot_transfers / sizeof *hot_transfers; i++)
        if ((int)hot_transfers[i].number == number && found->ml_flags == hot_transfers[i].flags)
            return method_replace(type, transfer->name, hot_transfers[i].function, &transfer->plain);
    return patch_method(type, transfer->name, &transfer->patched, transfer_functions[number]);
}
