/* The current byte offset of each direction of a stream.
 *
 * A direction (a *course*) has a key that both ends know, and counts its bytes. A SEND gives the bytes that a call
 * is about to write, a JOIN the bytes that a call has read, as "from-to"; "+" precedes the first bytes of a
 * connection. The graph builder compares the two. A partial write claims more bytes than it wrote; the next write,
 * which begins where the partial write ended, corrects this. If the count is lost, "from-" marks the offset from
 * which it is unknown. "=from" marks a known offset; it comes from the program that received the end at this offset
 * and is its only user. "to$" is the end of a pipe, seen by a read. Invariant: uncertainty is always recorded before
 * it can mislead. All code except the calls themselves runs with the GIL held. */

#ifndef CLEW_STREAMS_BYTE_OFFSETS_H
#define CLEW_STREAMS_BYTE_OFFSETS_H

#include "streams/stream_names.h"

static inline char *put_number(char *text, struct course *course, uint64_t number) {
    if (course->written != number || !course->length) {
        char digits[20];
        size_t at = sizeof digits;
        course->written = number;
        do digits[--at] = (char)('0' + number % 10);
        while (number /= 10);
        course->length = (uint8_t)(sizeof digits - at);
        memcpy(course->digits, digits + at, course->length);
    }
    memcpy(text, course->digits, sizeof course->digits);
    return text + course->length;
}

static inline void course_put(struct stream *stream, struct course *course, const char *text, size_t length) {
    bool sends = course == &stream->out;
    put_extended(sends ? KIND_SEND : KIND_JOIN, sends ? stream->send_site : stream->receive_site, course->key, stream->channel,
                 text, length, FLAG_BYTES);
    __builtin_prefetch(self.cur + AHEAD, 1);
}

/* `to` is ENDLESS where nothing is known from `from` on. */
static void course_record(struct stream *stream, struct course *course, uint64_t from, uint64_t to) {
    char text[48], *end = text;
    if (!store.active || !course->key) return;
    if (!course->begun) *end++ = '+';
    course->begun = true;
    end = put_number(end, course, from);
    *end++ = '-';
    if (to != ENDLESS) end = put_number(end, course, to);
    course_put(stream, course, text, (size_t)(end - text));
}

/* The same of one place: what `before` or `after` it says. */
static COLD void course_mark(struct stream *stream, struct course *course, const char *before, const char *after) {
    char text[48];
    if (store.active && course->key)
        course_put(stream, course, text,
                   (size_t)snprintf(text, sizeof text, "%s%llu%s", before, (unsigned long long)course->at, after));
}

static COLD void course_lose(struct stream *stream, struct course *course) {
    if (course->state == LOST) return;
    course->state = LOST;
    course_record(stream, course, course->at, ENDLESS);
}

static COLD void courses_note(void) {
    static const char what[] = "sockets: several threads used one end of a connection or a pipe at once: its bytes can't be "
                               "told apart, and it has no edges from there on";
    if (!streams.noted && store.active) define(KIND_NOTE, 0, what, sizeof what - 1);
    streams.noted = true;
}

/* Has C code used the standard streams itself? What it wrote or read is not counted. */
static COLD bool stdio_used(bool out) {
#ifdef __GLIBC__
    enum { PUTTING = 0x800 };
    if (out) return (stdout->_flags | stderr->_flags) & PUTTING;
    return stdin->_IO_read_end != stdin->_IO_read_base || stdin->_IO_buf_end - stdin->_IO_buf_base > 1;
#else
    return false;
#endif
}

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

/* What another program may read or write from now on, too. */
static void stream_give(long fd) {
    struct stream *stream = stream_of(fd);
    if (stream) {
        course_lose(stream, &stream->out);
        course_lose(stream, &stream->in);
    }
}

/* `replaced`: which of the standard streams the child gets others for, by bit. */
static void stream_give_inherited(int below, unsigned replaced) {
    for (int fd = 0; fd < streams.room && fd < below; fd++)
        if (streams.of[fd] && !(fd < 3 && replaced >> fd & 1)) {
            int flags = fcntl(fd, F_GETFD);
            if (flags >= 0 && !(flags & FD_CLOEXEC)) stream_give(fd);
        }
}

/* Of a child's own standard streams: it goes on with them, where it was told how. */
static void stream_pass(long fd) {
    for (int i = 0; i < handed.count; i++)
        if (handed.fd[i] == fd) return;
    stream_give(fd);
}

/* A pipe that somebody opened anew, by a name: what goes through that descriptor is not counted. */
static COLD void stream_reopened(const struct stat *about) {
    struct stat other;
    for (int fd = 0; fd < streams.room; fd++)
        if (streams.of[fd] && !fstat(fd, &other) && other.st_ino == about->st_ino && other.st_dev == about->st_dev)
            stream_give(fd);
}

static void stream_opened(long fd) {
    struct stat about;
    if (streams.room && fd >= 0 && !fstat((int)fd, &about) && S_ISFIFO(about.st_mode)) stream_reopened(&about);
}

/* A forked child goes on with what it has inherited; a call that was under way in another thread went on without it. */
static void courses_forked(void) {
    for (int fd = 0; fd < streams.room; fd++) {
        struct stream *stream = streams.of[fd];
        if (!stream) continue;
        struct course *both[2] = {&stream->out, &stream->in};
        for (int i = 0; i < 2; i++) {
            if (both[i]->busy && both[i]->state == SURE) both[i]->state = DOUBTFUL;
            both[i]->busy = false;
        }
    }
    streams.noted = false;
    courses_muted = 0;
}

#endif
