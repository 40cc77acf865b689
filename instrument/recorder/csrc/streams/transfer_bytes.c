#include "streams/transfer_bytes.h"

#include <fcntl.h>
#include <string.h>

#include "hooks/methods.h"
#include "streams/stream_names.h"

long as_number(PyObject *object) {
    int overflow;
    long number = -1;
    if (!object) /* of a call that failed, whose error stays */
        return -1;
    if (LIKELY(PyLong_CheckExact(object))) return PyLong_AsLongAndOverflow(object, &overflow);
    PyObject *index = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
    if (index) number = PyLong_AsLongAndOverflow(index, &overflow);
    Py_XDECREF(index);
    PyErr_Clear();
    return number;
}

uint64_t buffer_length(PyObject *data) {
    if (data && PyBytes_Check(data)) return (uint64_t)PyBytes_GET_SIZE(data);
    Py_buffer view;
    if (!data || PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)) {
        PyErr_Clear(); /* the call says what is wrong with it */
        return 0;
    }
    uint64_t length = (uint64_t)view.len;
    PyBuffer_Release(&view);
    return length;
}

uint64_t amount(PyObject *result) {
    if (result && PyTuple_Check(result) && PyTuple_GET_SIZE(result)) result = PyTuple_GET_ITEM(result, 0);
    if (result && PyBytes_Check(result)) return (uint64_t)PyBytes_GET_SIZE(result);
    long number = as_number(result);
    return number > 0 ? (uint64_t)number : 0;
}

PyObject *transfer_call(struct transfer *transfer, PyObject *self_object, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names) {
    if (transfer->owner == OF_MODULE) return PyObject_Vectorcall(transfer->patched.original, arguments, (size_t)count, names);
    return call_original(&transfer->patched, self_object, arguments, count, names);
}

void give_actions(PyObject *actions) {
    bool known = actions && (PyList_Check(actions) || PyTuple_Check(actions));
    for (int fd = 0; actions && !known && fd < streams.room; fd++) stream_give(fd);
    for (Py_ssize_t i = 0; known && i < PySequence_Fast_GET_SIZE(actions); i++) {
        PyObject *action = PySequence_Fast_GET_ITEM(actions, i);
        if (PyTuple_Check(action) && PyTuple_GET_SIZE(action) == 3) stream_pass(as_number(PyTuple_GET_ITEM(action, 1)));
    }
}

/* Marks the descriptors that a message hands to another process. `list` holds its ancillary data. */
static void give_ancillary(PyObject *list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        Py_buffer view;
        if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 3 ||
            PyObject_GetBuffer(PyTuple_GET_ITEM(item, 2), &view, PyBUF_SIMPLE))
            continue;
        bool rights = as_number(PyTuple_GET_ITEM(item, 0)) == SOL_SOCKET && as_number(PyTuple_GET_ITEM(item, 1)) == SCM_RIGHTS;
        for (Py_ssize_t at = 0; rights && at + (Py_ssize_t)sizeof(int) <= view.len; at += (Py_ssize_t)sizeof(int)) {
            int fd;
            memcpy(&fd, (char *)view.buf + at, sizeof fd);
            stream_give(fd);
        }
        PyBuffer_Release(&view);
    }
    PyErr_Clear();
}

bool flags_plain(long flags) {
    return !(flags & ~(long)(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_WAITALL | MSG_PEEK | MSG_CMSG_CLOEXEC
#ifdef MSG_MORE
                             | MSG_MORE
#endif
                             ));
}

long flags_of(struct transfer *transfer, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (transfer->owner != OF_SOCKET) return 0;
    /* `sendto` has them in the middle, when there are three arguments. */
    Py_ssize_t index = transfer->flags == -3 ? (count > 2 ? 1 : count) : transfer->flags;
    PyObject *given = argument(arguments, count, names, index, "flags");
    return given ? as_number(given) : 0;
}

COLD void stream_look_for_end(struct transfer *transfer, struct stream *stream, uint64_t went, PyObject *result,
                              const struct given *given) {
    bool of_module = transfer->owner == OF_MODULE, all = transfer->does == RECEIVES_ALL;
    PyObject *wanted = given->count > of_module ? given->arguments[of_module] : NULL;
    if (result == Py_None || stream->in.state) return;
    if (!result) {
        stream->over = transfer->owner == OF_SOCKET && PyErr_ExceptionMatches(PyExc_ConnectionResetError);
        if (stream->over) course_mark(stream, &stream->in, "", "$");
        return;
    }
    if (!all && !of_module && transfer == &transfers[OF_FILE_read]) all = !wanted || wanted == Py_None || as_number(wanted) < 0;
    if (all) {
        int flags = fcntl(own_descriptor(given->object), F_GETFL);
        stream->over = flags >= 0 && !(flags & O_NONBLOCK);
    } else {
        stream->over = !went && wanted && (as_number(wanted) > 0 || (!PyLong_Check(wanted) && buffer_length(wanted)));
    }
    if (stream->over) course_mark(stream, &stream->in, "", "$");
}

PyObject *transfer_list(struct transfer *transfer, long fd, PyObject *self_object, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names) {
    enum { MOST = 6 };
    PyObject *changed[MOST], *lists[2] = {NULL, NULL}, *result;
    bool is_socket = transfer->owner == OF_SOCKET;
    if (names || count <= transfer->data || count > MOST) return transfer_call(transfer, self_object, arguments, count, names);
    for (Py_ssize_t i = 0; i < count; i++) changed[i] = arguments[i];
    for (Py_ssize_t i = 0; i < 1 + is_socket && transfer->data + i < count; i++) {
        lists[i] = PySequence_List(arguments[transfer->data + i]);
        if (!lists[i]) { /* what the call has to say to that it says itself */
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) goto failed;
            PyErr_Clear();
            continue;
        }
        changed[transfer->data + i] = lists[i];
    }
    if (lists[1]) give_ancillary(lists[1]);
    uint64_t length = 0;
    for (Py_ssize_t i = 0; lists[0] && i < PyList_GET_SIZE(lists[0]); i++)
        length += buffer_length(PyList_GET_ITEM(lists[0], i));
    struct stream *stream = stream_of(fd);
    struct given given = {self_object, changed, count, NULL, NULL, NULL};
    result = stream ? transfer_bytes(transfer, stream, length, flags_of(transfer, changed, count, NULL), &given)
                    : given_call(transfer, &given);
    Py_XDECREF(lists[0]);
    Py_XDECREF(lists[1]);
    return result;
failed:
    Py_XDECREF(lists[0]);
    return NULL;
}
