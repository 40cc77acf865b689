/* Streams of bytes by descriptor: the end of a connection or pipe that each descriptor is, and the users of that
 * end.
 *
 * Invariants: a stream is known from its first byte or not at all; all code runs with the GIL held. */

#ifndef CLEW_STREAMS_STREAMS_H
#define CLEW_STREAMS_STREAMS_H

#include <sys/stat.h>

#include "hooks/operands.h"

/* What this process knows of a course. DOUBTFUL is said when it matters; HANDED is lost, but to one that may know more. */
enum { SURE, DOUBTFUL, HANDED, LOST };
enum { NAMED, AS_CONNECTED, AS_ACCEPTED }; /* how to name a stream that is used for the first time */
enum { MOST_DESCRIPTORS = 1 << 20 };
#define ENDLESS UINT64_MAX

struct course {
    uint64_t key, at; /* 0 for a pipe's way that there is not; bytes that went */
    uint8_t state;
    bool busy;  /* a call is under way */
    bool begun; /* the first record is made */
    uint8_t length;
    char digits[20]; /* `length` of them, of `written`: one record ends where the next one begins */
    uint64_t written;
};

struct stream {
    uint32_t users; /* descriptors, and calls under way */
    uint32_t channel;
    uint32_t send_site, receive_site;
    uint8_t naming;
    bool adopted; /* this program was given it as one of its standard streams */
    bool over;    /* its end was seen, and is said */
    struct course out, in;
};

static struct {
    struct stream **of; /* Owned, by descriptor; NULL for what is no stream, or one that began before we did */
    int room;
    uint64_t salt; /* of this machine's own addresses */
    uint32_t socket_channel, pipe_channel;
    uint32_t socket_send, socket_receive, pipe_send, pipe_receive; /* sites */
    bool noted;
} streams;

static __thread uint32_t courses_muted; /* what the calling thread sends has edges of its own */

/* The descriptors that the child which the calling thread is about to start may go on with. */
static __thread struct {
    long fd[3];
    int count;
} handed;

static inline struct stream *stream_at(long fd) { return fd >= 0 && fd < streams.room ? streams.of[fd] : NULL; }

static void stream_leave(struct stream *stream) {
    if (!--stream->users) free(stream);
}

static void stream_drop(long fd) {
    struct stream *stream = stream_at(fd);
    if (!stream) return;
    streams.of[fd] = NULL;
    stream_leave(stream);
}

/* Puts a stream at a descriptor, in the place of what was there; NULL when there is no room for it. */
static struct stream *stream_put(long fd, struct stream *stream) {
    if (fd < 0 || fd >= MOST_DESCRIPTORS) return NULL;
    if (fd >= streams.room) {
        int room = streams.room ? streams.room : 64;
        while (room <= fd) room *= 2;
        struct stream **of = realloc(streams.of, (size_t)room * sizeof *of);
        if (!of) return NULL;
        memset(of + streams.room, 0, (size_t)(room - streams.room) * sizeof *of);
        streams.of = of;
        streams.room = room;
    }
    stream->users++;
    stream_drop(fd);
    return streams.of[fd] = stream;
}

static struct stream *stream_new(long fd, uint8_t naming, bool is_pipe) {
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream) return NULL;
    stream->naming = naming;
    stream->channel = is_pipe ? streams.pipe_channel : streams.socket_channel;
    stream->send_site = is_pipe ? streams.pipe_send : streams.socket_send;
    stream->receive_site = is_pipe ? streams.pipe_receive : streams.socket_receive;
    struct stream *put = stream_put(fd, stream);
    if (!put) free(stream);
    return put;
}

/* Two ends that know one another from the start; a pipe's first one is read from. */
static void stream_pair(long one, long other, bool is_pipe) {
    struct stream *near = stream_new(one, NAMED, is_pipe), *far = stream_new(other, NAMED, is_pipe);
    if (!near || !far) return;
    near->in.key = far->out.key = key_fresh();
    if (!is_pipe) near->out.key = far->in.key = key_fresh();
}

static void stream_share(long fd, long copy) {
    struct stream *stream = stream_at(fd);
    if (fd == copy) return;
    if (stream) stream_put(copy, stream);
    else stream_drop(copy);
}

#endif
