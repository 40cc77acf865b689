/* The data of one call: descriptors and lengths from its arguments and result, and its bytes, counted around the
 * call.
 *
 * Invariant: bytes that cannot be counted are always reported as lost, and the call always gets its original
 * arguments. */
#ifndef CLEW_STREAMS_TRANSFER_BYTES_H
#define CLEW_STREAMS_TRANSFER_BYTES_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "streams/byte_offsets.h"
#include "streams/streams.h"
#include "streams/transfer_table.h"

/* A socket and a file begin with their descriptor. */
static inline int own_descriptor(PyObject *object) { return *(int *)(object + 1); }

static inline PyObject *argument(PyObject *const *arguments, Py_ssize_t count, PyObject *names, Py_ssize_t index,
                                 const char *name) {
    if (index < count) return arguments[index];
    for (Py_ssize_t i = 0; name && names && i < PyTuple_GET_SIZE(names); i++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name)) return arguments[count + i];
    return NULL;
}

/* The int, or -1 for another object or one that does not fit. */
long as_number(PyObject *object);

uint64_t buffer_length(PyObject *data);

/* How many bytes a call's result stands for. */
uint64_t amount(PyObject *result);

/* The arguments of a call, as they came; `tuple` is NULL where they are in `arguments` only. */
struct given {
    PyObject *object;
    PyObject *const *arguments;
    Py_ssize_t count;
    PyObject *names, *tuple, *keywords;
};

PyObject *transfer_call(struct transfer *transfer, PyObject *self_object, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names);

/* The descriptors to which `posix_spawn` gives other numbers in the child: (what, descriptor, number). */
void give_actions(PyObject *actions);

static inline PyObject *given_call(struct transfer *transfer, const struct given *given) {
    if (!given->tuple) return transfer_call(transfer, given->object, given->arguments, given->count, given->names);
    if (transfer->plain.definition.ml_flags & METH_KEYWORDS)
        return ((PyCFunctionWithKeywords)(void (*)(void))transfer->plain.original)(given->object, given->tuple,
                                                                                   given->keywords);
    return transfer->plain.original(given->object, given->tuple);
}

/* Which of a socket's flags leave the count of bytes as it would be. */
bool flags_plain(long flags);

long flags_of(struct transfer *transfer, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

/* Says where the end of a stream is, if a read saw it: one of all there is, that may wait for it, one that got nothing, or one
 * of a connection that was reset. */
COLD void stream_look_for_end(struct transfer *transfer, struct stream *stream, uint64_t went, PyObject *result,
                              const struct given *given);

/* `flags`: of a socket's call. */
static inline PyObject *transfer_bytes(struct transfer *transfer, struct stream *stream, uint64_t length, long flags,
                                       const struct given *given) {
    struct course *course = transfer->does <= SENDS_COUNT ? &stream->out : &stream->in;
    if (UNLIKELY(flags)) {
        if (!flags_plain(flags)) course_lose(stream, course);
        else if (flags & MSG_PEEK) return given_call(transfer, given);
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
        if (transfer->does >= RECEIVES && !stream->over && (!went || transfer->owner == OF_FILE))
            stream_look_for_end(transfer, stream, went, result, given);
    }
    stream_leave(stream);
    return result;
}

/* An iterable may be an iterator, which works only once, so the call gets lists. */
PyObject *transfer_list(struct transfer *transfer, long fd, PyObject *self_object, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names);

#endif
