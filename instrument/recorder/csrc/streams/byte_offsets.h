/* The current byte offset of each direction of a stream.
 *
 * A direction (a *course*) has a key that both ends know, and counts its bytes. A SEND gives the bytes that a call
 * is about to write, a JOIN the bytes that a call has read, as "from-to"; "+" precedes the first bytes of a
 * connection. The graph builder compares the two. A partial write claims more bytes than it wrote; the next write,
 * which begins where the partial write ended, corrects this. If the count is lost, "from-" marks the offset from
 * which it is unknown. "=from" marks a known offset; it comes from the program that received the end at this offset
 * and is its only user. "to$" is the end of a stream: a JOIN of a read that saw it, or a SEND of the call that closed or
 * shut down this end of a connection. Invariant: uncertainty is always recorded before
 * it can mislead. All code except the calls themselves runs with the GIL held. */
#ifndef CLEW_STREAMS_BYTE_OFFSETS_H
#define CLEW_STREAMS_BYTE_OFFSETS_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#include "streams/streams.h"

/* `to` is ENDLESS where nothing is known from `from` on. */
void course_record(struct stream *stream, struct course *course, uint64_t from, uint64_t to);

/* The same of one place: what `before` or `after` it says. */
COLD void course_mark(struct stream *stream, struct course *course, const char *before, const char *after);

COLD void course_lose(struct stream *stream, struct course *course);

/* Records that this end of a connection writes no more. Nothing is recorded of a stream that is lost, or NULL. */
COLD void stream_end(struct stream *stream);

/* A descriptor is about to be closed: the last one of a connection ends it. */
void stream_close(long fd);

COLD void courses_note(void);

/* Has C code used the standard streams itself? Its bytes are not counted. */
COLD bool stdio_used(bool out);

/* Before a call: may its bytes be counted? `length`: those that it is about to write. */
static inline bool course_begin(struct stream *stream, struct course *course, uint64_t length) {
    if (UNLIKELY(course->state || course->busy || stream->adopted)) {
        bool alone = !course->busy && (!stream->adopted || !stdio_used(course == &stream->out));
        if (course->state == SURE && course->busy) courses_note();
        if (course->state || !alone) {
            course_lose(stream, course);
            return false;
        }
    }
    course->busy = true;
    if (course == &stream->out && length && !courses_muted) course_record(stream, course, course->at, course->at + length);
    return true;
}

/* After it: `length` bytes went, of those that were claimed. */
static inline void course_end(struct stream *stream, struct course *course, uint64_t claimed, uint64_t length) {
    course->busy = false;
    if (UNLIKELY(course->state)) return; /* somebody else's call came in between */
    if (course == &stream->in && length) course_record(stream, course, course->at, course->at + length);
    course->at += length;
    if (UNLIKELY(length < claimed) && !courses_muted) course_record(stream, course, course->at, course->at);
}

/* Marks a stream that another program may also read or write from now on. */
void stream_give(long fd);

/* `replaced`: which of the standard streams the child gets others for, by bit. */
void stream_give_inherited(int below, unsigned replaced);

/* Marks the standard streams of a child that continues to count them, if it got their state. */
void stream_pass(long fd);

void stream_opened(long fd);

/* A forked child keeps the streams that it inherits. A call that ran in another thread continues only in the parent. */
void courses_forked(void);

#endif
