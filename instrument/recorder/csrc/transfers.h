/* The calls that make, use and end streams of bytes: methods of `socket.socket` and `io.FileIO`, functions of `os` and others.
 *
 * They stay the objects they were, and do what they did, with the arguments they got: what is ours counts the bytes around
 * them. Descriptors are read out of the C objects, whose shape is tried out at the start. Invariants: a call fails as ever;
 * a function that is not there has no hook. */

#ifndef CLEW_TRANSFERS_H
#define CLEW_TRANSFERS_H

#include "courses.h"

enum owner { OF_SOCKET, OF_FILE, OF_MODULE };

enum doing {
    SENDS, SENDS_ALL, SENDS_LIST, SENDS_COUNT, RECEIVES, RECEIVES_ALL,
    CONNECTS, ACCEPTS, CLOSES, CLOSES_RANGE, MAKES_PIPE, MAKES_PAIR, COPIES, COPIES_TO, CONTROLS,
    STARTS, STARTS_ANY, SPLICES, WAKES, OPENS,
};

/* name, of what, does, which argument is the data, which one the flags of a socket's call, its name */
#define TRANSFERS(X)                                                                                                   \
    X(send, OF_SOCKET, SENDS, 0, 1)                                                                                    \
    X(sendall, OF_SOCKET, SENDS_ALL, 0, 1)                                                                             \
    X(sendto, OF_SOCKET, SENDS, 0, -3)                                                                                 \
    X(sendmsg, OF_SOCKET, SENDS_LIST, 0, 2)                                                                            \
    X(recv, OF_SOCKET, RECEIVES, -1, 1)                                                                                \
    X(recvfrom, OF_SOCKET, RECEIVES, -1, 1)                                                                            \
    X(recv_into, OF_SOCKET, RECEIVES, -1, 2)                                                                           \
    X(recvfrom_into, OF_SOCKET, RECEIVES, -1, 2)                                                                       \
    X(recvmsg, OF_SOCKET, RECEIVES, -1, 2)                                                                             \
    X(recvmsg_into, OF_SOCKET, RECEIVES, -1, 2)                                                                        \
    X(connect, OF_SOCKET, CONNECTS, -1, -1)                                                                            \
    X(connect_ex, OF_SOCKET, CONNECTS, -1, -1)                                                                         \
    X(_accept, OF_SOCKET, ACCEPTS, -1, -1)                                                                             \
    X(close, OF_SOCKET, CLOSES, -1, -1)                                                                                \
    X(write, OF_FILE, SENDS, 0, -1)                                                                                    \
    X(read, OF_FILE, RECEIVES, -1, -1)                                                                                 \
    X(readinto, OF_FILE, RECEIVES, -1, -1)                                                                             \
    X(readall, OF_FILE, RECEIVES_ALL, -1, -1)                                                                          \
    X(close, OF_FILE, CLOSES, -1, -1)                                                                                  \
    X(write, OF_MODULE, SENDS, 1, -1)                                                                                  \
    X(writev, OF_MODULE, SENDS_LIST, 1, -1)                                                                            \
    X(sendfile, OF_MODULE, SENDS_COUNT, 3, -1)                                                                         \
    X(read, OF_MODULE, RECEIVES, -1, -1)                                                                               \
    X(readv, OF_MODULE, RECEIVES, -1, -1)                                                                              \
    X(splice, OF_MODULE, SPLICES, -1, -1)                                                                              \
    X(close, OF_MODULE, CLOSES, -1, -1)                                                                                \
    X(closerange, OF_MODULE, CLOSES_RANGE, -1, -1)                                                                     \
    X(pipe, OF_MODULE, MAKES_PIPE, -1, -1)                                                                             \
    X(pipe2, OF_MODULE, MAKES_PIPE, -1, -1)                                                                            \
    X(socketpair, OF_MODULE, MAKES_PAIR, -1, -1)                                                                       \
    X(dup, OF_MODULE, COPIES, -1, -1)                                                                                  \
    X(dup2, OF_MODULE, COPIES_TO, -1, -1)                                                                              \
    X(fcntl, OF_MODULE, CONTROLS, -1, -1)                                                                              \
    X(fork_exec, OF_MODULE, STARTS, -1, -1)                                                                            \
    X(posix_spawn, OF_MODULE, STARTS_ANY, -1, -1)                                                                      \
    X(posix_spawnp, OF_MODULE, STARTS_ANY, -1, -1)                                                                     \
    X(system, OF_MODULE, STARTS_ANY, -1, -1)                                                                           \
    X(execv, OF_MODULE, STARTS_ANY, -1, -1)                                                                            \
    X(execve, OF_MODULE, STARTS_ANY, -1, -1)                                                                           \
    X(set_wakeup_fd, OF_MODULE, WAKES, -1, -1)                                                                         \
    X(open, OF_MODULE, OPENS, -1, -1)

#define ENUMERATE(name, owner, does, data, flags) owner##_##name,
enum transfer_number { TRANSFERS(ENUMERATE) SOCKET_DUP, TRANSFER_COUNT };

struct transfer {
    const char *name;
    uint8_t owner, does;
    int8_t data, flags;
    struct patched patched;
    struct method plain; /* of those that are called most, in its place: nothing is handed on that came as it is wanted */
};

#define DESCRIBE(name, owner, does, data, flags) {#name, owner, does, data, flags, {{0}, NULL}, {{0}, NULL}},
static struct transfer transfers[TRANSFER_COUNT] = {
    TRANSFERS(DESCRIBE){"dup", OF_MODULE, COPIES, -1, -1, {{0}, NULL}, {{0}, NULL}}};

static destructor socket_dealloc;

/* A socket and a file begin with their descriptor. */
static inline int own_descriptor(PyObject *object) { return *(int *)(object + 1); }

static inline PyObject *argument(PyObject *const *arguments, Py_ssize_t count, PyObject *names, Py_ssize_t index,
                                 const char *name) {
    if (index < count)
        return arguments[index];
    for (Py_ssize_t i = 0; name && names && i < PyTuple_GET_SIZE(names); i++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name))
            return arguments[count + i];
    return NULL;
}

/* -1 for what is no int that fits. */
static long as_number(PyObject *object) {
    int overflow;
    long number = -1;
    if (!object) /* of a call that failed, whose error stays */
        return -1;
    if (LIKELY(PyLong_CheckExact(object)))
        return PyLong_AsLongAndOverflow(object, &overflow);
    PyObject *index = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
    if (index)
        number = PyLong_AsLongAndOverflow(index, &overflow);
    Py_XDECREF(index);
    PyErr_Clear();
    return number;
}

static uint64_t buffer_length(PyObject *data) {
    if (data && PyBytes_Check(data))
        return (uint64_t)PyBytes_GET_SIZE(data);
    Py_buffer view;
    if (!data || PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)) {
        PyErr_Clear(); /* the call says what is wrong with it */
        return 0;
    }
    uint64_t length = (uint64_t)view.len;
    PyBuffer_Release(&view);
    return length;
}

/* How many bytes a call's result stands for. */
static uint64_t amount(PyObject *result) {
    if (result && PyTuple_Check(result) && PyTuple_GET_SIZE(result))
        result = PyTuple_GET_ITEM(result, 0);
    if (result && PyBytes_Check(result))
        return (uint64_t)PyBytes_GET_SIZE(result);
    long number = as_number(result);
    return number > 0 ? (uint64_t)number : 0;
}

/* The arguments of a call, as they came; `tuple` is NULL where they are in `arguments` only. */
struct given {
    PyObject *object;
    PyObject *const *arguments;
    Py_ssize_t count;
    PyObject *names, *tuple, *keywords;
};

static PyObject *transfer_call(struct transfer *transfer, PyObject *self_object, PyObject *const *arguments,
                               Py_ssize_t count, PyObject *names) {
    if (transfer->owner == OF_MODULE)
        return PyObject_Vectorcall(transfer->patched.original, arguments, (size_t)count, names);
    return call_original(&transfer->patched, self_object, arguments, count, names);
}

/* What `posix_spawn` puts at other numbers in the child: (what, descriptor, number). */
static void give_actions(PyObject *actions) {
    bool known = actions && (PyList_Check(actions) || PyTuple_Check(actions));
    for (int fd = 0; actions && !known && fd < streams.room; fd++)
        stream_give(fd);
    for (Py_ssize_t i = 0; known && i < PySequence_Fast_GET_SIZE(actions); i++) {
        PyObject *action = PySequence_Fast_GET_ITEM(actions, i);
        if (PyTuple_Check(action) && PyTuple_GET_SIZE(action) == 3)
            stream_pass(as_number(PyTuple_GET_ITEM(action, 1)));
    }
}

static inline PyObject *given_call(struct transfer *transfer, const struct given *given) {
    if (!given->tuple)
        return transfer_call(transfer, given->object, given->arguments, given->count, given->names);
    if (transfer->plain.definition.ml_flags & METH_KEYWORDS)
        return ((PyCFunctionWithKeywords)(void (*)(void))transfer->plain.original)(given->object, given->tuple, given->keywords);
    return transfer->plain.original(given->object, given->tuple);
}

/* What a message hands over: descriptors that another process may use from now on. `list` is of what it consists of. */
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

/* Which of a socket's flags leave the count of bytes as it would be. */
static bool flags_plain(long flags) {
    return !(flags & ~(long)(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_WAITALL | MSG_PEEK | MSG_CMSG_CLOEXEC
#ifdef MSG_MORE
                             | MSG_MORE
#endif
                             ));
}

static long flags_of(struct transfer *transfer, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (transfer->owner != OF_SOCKET)
        return 0;
    /* `sendto` has them in the middle, when there are three arguments. */
    Py_ssize_t index = transfer->flags == -3 ? (count > 2 ? 1 : count) : transfer->flags;
    PyObject *given = argument(arguments, count, names, index, "flags");
    return given ? as_number(given) : 0;
}

/* Says where the end of a pipe is, if a read saw it: one of all there is, that may wait for it, or one that got nothing. */
static COLD void stream_look_for_end(struct transfer *transfer, struct stream *stream, uint64_t went, PyObject *result,
                                     const struct given *given) {
    bool of_module = transfer->owner == OF_MODULE, all = transfer->does == RECEIVES_ALL;
    PyObject *wanted = given->count > of_module ? given->arguments[of_module] : NULL;
    if (result == Py_None || stream->in.state)
        return;
    if (!all && !of_module && transfer == &transfers[OF_FILE_read])
        all = !wanted || wanted == Py_None || as_number(wanted) < 0;
    if (all) {
        int flags = fcntl(own_descriptor(given->object), F_GETFL);
        stream->over = flags >= 0 && !(flags & O_NONBLOCK);
    } else {
        stream->over = !went && wanted && (as_number(wanted) > 0 || (!PyLong_Check(wanted) && buffer_length(wanted)));
    }
    if (stream->over)
        course_mark(stream, &stream->in, "", "$");
}

/* `flags`: of a socket's call. */
static inline PyObject *transfer_bytes(struct transfer *transfer, struct stream *stream, uint64_t length, long flags,
                                       const struct given *given) {
    struct course *course = transfer->does <= SENDS_COUNT ? &stream->out : &stream->in;
    if (UNLIKELY(flags)) {
        if (!flags_plain(flags))
            course_lose(stream, course);
        else if (flags & MSG_PEEK)
            return given_call(transfer, given);
    }
    stream->users++;
    bool counted = course_begin(stream, course, length);
    PyObject *result = given_call(transfer, given);
    if (counted) {
        bool all = transfer->does == SENDS_ALL && result;
        if (UNLIKELY(!result && (transfer->does == SENDS_ALL || transfer->does == RECEIVES_ALL)))
            course_lose(stream, course); /* some may have gone */
        uint64_t went = all ? length : amount(result);
        course_end(stream, course, length, went);
        if (transfer->owner != OF_SOCKET && transfer->does >= RECEIVES && result && !stream->over &&
            (!went || transfer->owner == OF_FILE))
            stream_look_for_end(transfer, stream, went, result, given);
    }
    stream_leave(stream);
    return result;
}

/* What is given as an iterable may be an iterator, which can be asked once: the call gets lists. */
static PyObject *transfer_list(struct transfer *transfer, long fd, PyObject *self_object, PyObject *const *arguments,
                               Py_ssize_t count, PyObject *names) {
    enum { MOST = 6 };
    PyObject *changed[MOST], *lists[2] = {NULL, NULL}, *result;
    bool is_socket = transfer->owner == OF_SOCKET;
    if (names || count <= transfer->data || count > MOST)
        return transfer_call(transfer, self_object, arguments, count, names);
    for (Py_ssize_t i = 0; i < count; i++)
        changed[i] = arguments[i];
    for (Py_ssize_t i = 0; i < 1 + is_socket && transfer->data + i < count; i++) {
        lists[i] = PySequence_List(arguments[transfer->data + i]);
        if (!lists[i]) { /* what the call has to say to that it says itself */
            if (!PyErr_ExceptionMatches(PyExc_TypeError))
                goto failed;
            PyErr_Clear();
            continue;
        }
        changed[transfer->data + i] = lists[i];
    }
    if (lists[1])
        give_ancillary(lists[1]);
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

static PyObject *transfer_acts(struct transfer *transfer, PyObject *self_object, PyObject *const *arguments,
                               Py_ssize_t count, PyObject *names) {
    long fd = -1, copy;
    uint64_t length = 0;
    struct stream *stream;
    PyObject *result;
    if (transfer->does <= RECEIVES_ALL) {
        const char *name = transfer->does == SENDS_COUNT ? "out_fd" : NULL;
        fd = transfer->owner == OF_MODULE ? as_number(argument(arguments, count, names, 0, name)) : own_descriptor(self_object);
        if (UNLIKELY(transfer->does == SENDS_LIST))
            return transfer_list(transfer, fd, self_object, arguments, count, names);
        stream = stream_of(fd);
        if (!stream)
            return transfer_call(transfer, self_object, arguments, count, names);
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
            if (closes == Py_False)
                fd = -1;
            Py_XDECREF(closes);
            PyErr_Clear();
        }
        stream_drop(fd);
        break;
    case CLOSES_RANGE: {
        long low = count == 2 ? as_number(arguments[0]) : 0, high = count == 2 ? as_number(arguments[1]) : 0;
        for (fd = low < 0 ? 0 : low; fd < high && fd < streams.room; fd++)
            stream_drop(fd);
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
            if (stream)
                course_lose(stream, i ? &stream->out : &stream->in);
        }
        break;
    case WAKES:
        stream_give(count ? as_number(arguments[0]) : -1); /* a signal writes to it, and nobody says so */
        break;
    case CONNECTS:
        fd = own_descriptor(self_object);
        break;
    case COPIES: case COPIES_TO:
        fd = as_number(argument(arguments, count, names, 0, "fd"));
        break;
    }
    result = transfer_call(transfer, self_object, arguments, count, names);
    switch (transfer->does) {
    case CONNECTS:
        if (fd >= 0 && own_descriptor(self_object) == fd)
            stream_connect(fd, AS_CONNECTED);
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
            if (is_byte_stream(one))
                stream_pair(one, other, false);
        }
        break;
    case COPIES: case COPIES_TO:
        if (result && (copy = as_number(result)) >= 0)
            stream_share(fd, copy);
        break;
    case OPENS:
        stream_opened(as_number(result));
        break;
    case CONTROLS: {
        long does = count > 1 ? as_number(arguments[1]) : -1;
        if ((does != F_DUPFD && does != F_DUPFD_CLOEXEC) || !result || (copy = as_number(result)) < 0)
            break;
        PyObject *number = PyIndex_Check(arguments[0]) ? NULL : PyObject_CallMethod(arguments[0], "fileno", NULL);
        stream_share(as_number(number ? number : arguments[0]), copy);
        Py_XDECREF(number);
        break;
    }
    }
    return result;
}

#define ACT(name, owner, does, data, flags)                                                                            \
    static PyObject *owner##_##name##_acts(PyObject *self_object, PyObject *const *arguments, Py_ssize_t count,        \
                                           PyObject *names) {                                                          \
        return transfer_acts(&transfers[owner##_##name], self_object, arguments, count, names);                        \
    }
TRANSFERS(ACT)

static PyObject *socket_dup_acts(PyObject *self_object, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    return transfer_acts(&transfers[SOCKET_DUP], self_object, arguments, count, names);
}

#define FUNCTION(name, owner, does, data, flags) owner##_##name##_acts,
static const method transfer_functions[TRANSFER_COUNT] = {TRANSFERS(FUNCTION) socket_dup_acts};

/* The methods of sockets that are called most. */
static inline PyObject *transfer_hot(enum transfer_number number, PyObject *object, PyObject *tuple, PyObject *keywords) {
    struct transfer *transfer = &transfers[number];
    struct given given = {object, ((PyTupleObject *)tuple)->ob_item, PyTuple_GET_SIZE(tuple), NULL, tuple, keywords};
    struct stream *stream = stream_of(own_descriptor(object));
    if (!stream)
        return given_call(transfer, &given);
    PyObject *flags = given.count > transfer->flags ? given.arguments[transfer->flags] : NULL;
    if (UNLIKELY(keywords) && !flags)
        flags = PyDict_GetItemString(keywords, "flags");
    uint64_t length = transfer->does <= SENDS_COUNT && given.count ? buffer_length(given.arguments[0]) : 0;
    return transfer_bytes(transfer, stream, length, flags ? as_number(flags) : 0, &given);
}

#define HOT(name)                                                                                                      \
    static PyObject *hot_##name(PyObject *object, PyObject *tuple) {                                                   \
        return transfer_hot(OF_SOCKET_##name, object, tuple, NULL);                                                    \
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

static bool transfer_watch(PyTypeObject *type, int number) {
    struct transfer *transfer = &transfers[number];
    if (transfer->patched.original || transfer->plain.original)
        return true;
    PyMethodDef *found = method_find(type, transfer->name);
    for (size_t i = 0; found && i < sizeof hot_transfers / sizeof *hot_transfers; i++)
        if ((int)hot_transfers[i].number == number && found->ml_flags == hot_transfers[i].flags)
            return method_replace(type, transfer->name, hot_transfers[i].function, &transfer->plain);
    return patch_method(type, transfer->name, &transfer->patched, transfer_functions[number]);
}

static void socket_ends(PyObject *object) {
    stream_drop(own_descriptor(object));
    socket_dealloc(object);
}

static initproc file_init;

static int file_begins(PyObject *object, PyObject *arguments, PyObject *keywords) {
    int failed = file_init(object, arguments, keywords);
    PyObject *name = !failed && PyTuple_GET_SIZE(arguments) ? PyTuple_GET_ITEM(arguments, 0) : NULL;
    if (name && !PyLong_Check(name))
        stream_opened(own_descriptor(object));
    return failed;
}

/* Makes a builtin function do what ours does; the original becomes an object of its own. */
static bool builtin_patch(PyObject *builtin, struct patched *patched, method ours) {
    PyCFunctionObject *object = (PyCFunctionObject *)builtin, *shape;
    patched->original = PyCFunction_NewEx(object->m_ml, object->m_self, object->m_module);
    patched->definition = *object->m_ml;
    patched->definition.ml_meth = (PyCFunction)(void (*)(void))ours;
    patched->definition.ml_flags = METH_FASTCALL | METH_KEYWORDS;
    shape = patched->original ? (PyCFunctionObject *)PyCFunction_NewEx(&patched->definition, NULL, NULL) : NULL;
    if (!shape)
        return false;
    object->m_ml = &patched->definition;
    object->vectorcall = shape->vectorcall;
    Py_DECREF(shape);
    return true;
}

/* watch_streams(salt, (socket channel, send, receive), (pipe channel, write, read)) -> the names of the functions of modules
 * that `watch_transfer` takes, by its number; empty for methods. */
static PyObject *core_watch_streams(PyObject *module, PyObject *arguments) {
    unsigned long long salt;
    if (!PyArg_ParseTuple(arguments, "K(III)(III):watch_streams", &salt, &streams.socket_channel, &streams.socket_send,
                          &streams.socket_receive, &streams.pipe_channel, &streams.pipe_send, &streams.pipe_receive))
        return NULL;
    streams.salt = salt;
    PyObject *names = PyList_New(0);
    for (int i = 0; names && i < TRANSFER_COUNT; i++) {
        PyObject *name = PyUnicode_FromString(transfers[i].owner == OF_MODULE ? transfers[i].name : "");
        if (!name || PyList_Append(names, name))
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

/* watch_transfer(number, builtin function) */
static PyObject *core_watch_transfer(PyObject *module, PyObject *arguments) {
    int number;
    PyObject *function;
    if (!PyArg_ParseTuple(arguments, "iO!:watch_transfer", &number, &PyCFunction_Type, &function))
        return NULL;
    if (number < 0 || number >= TRANSFER_COUNT || transfers[number].owner != OF_MODULE)
        return PyErr_Format(PyExc_ValueError, "there is no function %d", number);
    if (!transfers[number].patched.original &&
        !builtin_patch(function, &transfers[number].patched, transfer_functions[number]))
        return NULL;
    Py_RETURN_NONE;
}

/* watch_transfers(an object): the methods of its type, that of sockets or files. */
static PyObject *core_watch_transfers(PyObject *module, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject *number = PyObject_CallMethod(object, "fileno", NULL); /* up to 3.11 it makes a socket's type ready, too */
    if (!number)
        return NULL;
    long fd = as_number(number);
    Py_DECREF(number);
    int owner = method_find(type, "_accept") ? OF_SOCKET : OF_FILE;
    if (fd != own_descriptor(object))
        return PyErr_Format(PyExc_TypeError, "%s is not what it was", type->tp_name);
    for (int i = 0; i < TRANSFER_COUNT; i++)
        if (transfers[i].owner == owner && !transfer_watch(type, i))
            return NULL;
    if (owner == OF_SOCKET && !socket_dealloc) {
        socket_dealloc = type->tp_dealloc;
        type->tp_dealloc = socket_ends;
    }
    if (owner == OF_FILE && !file_init) {
        file_init = type->tp_init;
        if (!patch_wrapper(type, "__init__", file_begins))
            return NULL;
        type->tp_init = file_begins;
    }
    PyType_Modified(type);
    Py_RETURN_NONE;
}

/* hand_streams((the descriptors of the standard streams of the child that this thread starts next)) -> for each what
 * `adopt_stream` takes, or None where the child can't go on with it. Only the child may use them from here on. */
static PyObject *core_hand_streams(PyObject *module, PyObject *descriptors) {
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
        if (!one || PyList_Append(told, one))
            Py_CLEAR(told);
        Py_XDECREF(one);
    }
    return told;
}

/* adopt_stream(fd, mark, is a pipe, out's key, bytes, begun, in's key, bytes, begun): what this program was started with. */
static PyObject *core_adopt_stream(PyObject *module, PyObject *arguments) {
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
    if (stdio_used(true) || stdio_used(false) || !(stream = stream_new(fd, NAMED, is_pipe)))
        Py_RETURN_NONE;
    stream->adopted = true;
    stream->out.key = out, stream->out.at = out_at, stream->out.begun = sent;
    stream->in.key = in, stream->in.at = in_at, stream->in.begun = received;
    course_mark(stream, &stream->out, mark, "");
    course_mark(stream, &stream->in, mark, "");
    Py_RETURN_NONE;
}

/* forget_stream(fd): what goes through it has edges of its own, or none. */
static PyObject *core_forget_stream(PyObject *module, PyObject *fd) {
    stream_drop(as_number(fd));
    Py_RETURN_NONE;
}

/* mute_streams(on): what this thread sends from now on has edges of its own. */
static PyObject *core_mute_streams(PyObject *module, PyObject *on) {
    courses_muted = on == Py_True ? courses_muted + 1 : courses_muted - (courses_muted > 0);
    Py_RETURN_NONE;
}

#endif
