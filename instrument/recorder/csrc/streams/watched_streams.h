/* Install clew's functions in the calls on streams, and answer Python's queries about a stream.
 *
 * Descriptors are read from the C objects, whose layout is checked at startup. Invariant: a function that is missing
 * or has an unknown shape is never hooked. */
#ifndef CLEW_STREAMS_WATCHED_STREAMS_H
#define CLEW_STREAMS_WATCHED_STREAMS_H

#include "core.h"

/* watch_streams(salt, (socket channel, send, receive), (pipe channel, write, read)) -> the names of the functions of modules
 * that `watch_transfer` takes, by its number; empty for methods. */
PyObject *core_watch_streams(PyObject *module, PyObject *arguments);

/* watch_transfer(number, builtin function) */
PyObject *core_watch_transfer(PyObject *module, PyObject *arguments);

/* watch_transfers(an object): the methods of its type, that of sockets or files. */
PyObject *core_watch_transfers(PyObject *module, PyObject *object);

/* hand_streams((the descriptors of the standard streams of the child that this thread starts next)) -> for each what
 * `adopt_stream` takes, or None where the child can't go on with it. Only the child may use them from here on. */
PyObject *core_hand_streams(PyObject *module, PyObject *descriptors);

/* adopt_stream(fd, mark, is a pipe, out's key, bytes, begun, in's key, bytes, begun): what this program was started with. */
PyObject *core_adopt_stream(PyObject *module, PyObject *arguments);

/* forget_stream(fd): what goes through it has edges of its own, or none. */
PyObject *core_forget_stream(PyObject *module, PyObject *fd);

/* mute_streams(on): what this thread sends from now on has edges of its own. */
PyObject *core_mute_streams(PyObject *module, PyObject *on);

#endif
