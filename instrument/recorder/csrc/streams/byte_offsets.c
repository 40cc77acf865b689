#include "streams/byte_offsets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/records.h"
#include "store/store.h"
#include "streams/stream_names.h"
#include "trace_format.h"

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

void course_record(struct stream *stream, struct course *course, uint64_t from, uint64_t to) {
    char text[48], *end = text;
    if (!store.active || !course->key) return;
    if (!course->begun) *end++ = '+';
    course->begun = true;
    end = put_number(end, course, from);
    *end++ = '-';
    if (to != ENDLESS) end = put_number(end, course, to);
    course_put(stream, course, text, (size_t)(end - text));
}

COLD void course_mark(struct stream *stream, struct course *course, const char *before, const char *after) {
    char text[48];
    if (store.active && course->key)
        course_put(stream, course, text,
                   (size_t)snprintf(text, sizeof text, "%s%llu%s", before, (unsigned long long)course->at, after));
}

COLD void course_lose(struct stream *stream, struct course *course) {
    if (course->state == LOST) return;
    course->state = LOST;
    course_record(stream, course, course->at, ENDLESS);
}

COLD void stream_end(struct stream *stream) {
    if (!stream || stream->channel != streams.socket_channel || stream->shut || stream->out.state) return;
    stream->shut = true;
    course_mark(stream, &stream->out, "", "$");
}

void stream_close(long fd) {
    struct stream *stream = stream_at(fd);
    if (!stream) return;
    if (stream->users == 1) stream_end(stream_of(fd));
    stream_drop(fd);
}

COLD void courses_note(void) {
    static const char what[] = "sockets: several threads used one end of a connection or a pipe at once: its bytes can't be "
                               "told apart, and it has no edges from there on";
    if (!streams.noted && store.active) define(KIND_NOTE, 0, what, sizeof what - 1);
    streams.noted = true;
}

COLD bool stdio_used(bool out) {
#ifdef __GLIBC__
    enum { PUTTING = 0x800 };
    if (out) return (stdout->_flags | stderr->_flags) & PUTTING;
    return stdin->_IO_read_end != stdin->_IO_read_base || stdin->_IO_buf_end - stdin->_IO_buf_base > 1;
#else
    return false;
#endif
}

void stream_give(long fd) {
    struct stream *stream = stream_of(fd);
    if (stream) {
        course_lose(stream, &stream->out);
        course_lose(stream, &stream->in);
    }
}

void stream_give_inherited(int below, unsigned replaced) {
    for (int fd = 0; fd < streams.room && fd < below; fd++)
        if (streams.of[fd] && !(fd < 3 && replaced >> fd & 1)) {
            int flags = fcntl(fd, F_GETFD);
            if (flags >= 0 && !(flags & FD_CLOEXEC)) stream_give(fd);
        }
}

void stream_pass(long fd) {
    for (int i = 0; i < handed.count; i++)
        if (handed.fd[i] == fd) return;
    stream_give(fd);
}

/* The program reopened a pipe by a name: the bytes of that descriptor are not counted. */
static COLD void stream_reopened(const struct stat *about) {
    struct stat other;
    for (int fd = 0; fd < streams.room; fd++)
        if (streams.of[fd] && !fstat(fd, &other) && other.st_ino == about->st_ino && other.st_dev == about->st_dev)
            stream_give(fd);
}

void stream_opened(long fd) {
    struct stat about;
    if (streams.room && fd >= 0 && !fstat((int)fd, &about) && S_ISFIFO(about.st_mode)) stream_reopened(&about);
}

void courses_forked(void) {
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
