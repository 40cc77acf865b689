/* Streams of bytes by descriptor: the end of a connection or pipe that each descriptor is, and the users of that
 * end.
 *
 * Invariants: a stream is known from its first byte or not at all; all code runs with the GIL held. */
#ifndef CLEW_STREAMS_STREAMS_H
#define CLEW_STREAMS_STREAMS_H

#include "core.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The state of a course in this process. DOUBTFUL is recorded when it matters; HANDED is lost to a process that may know
 * more. */
enum { SURE, DOUBTFUL, HANDED, LOST };
enum { NAMED, AS_CONNECTED, AS_ACCEPTED }; /* how to name a stream that is used for the first time */
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
    bool over;    /* its end was seen and recorded */
    bool shut;    /* this end writes no more, which was recorded */
    struct course out, in;
};

struct streams {
    struct stream **of; /* Owned, by descriptor; NULL for other descriptors and for streams that began before the recording */
    int room;
    uint64_t salt; /* of this machine's own addresses */
    uint32_t socket_channel, pipe_channel;
    uint32_t socket_send, socket_receive, pipe_send, pipe_receive; /* sites */
    bool noted;
};
SHARED struct streams streams;

SHARED __thread uint32_t courses_muted; /* what the calling thread sends has edges of its own */

/* The descriptors that the next child of the calling thread may continue to use. */
struct handed {
    long fd[3];
    int count;
};
SHARED __thread struct handed handed;

static inline struct stream *stream_at(long fd) { return fd >= 0 && fd < streams.room ? streams.of[fd] : NULL; }

static inline void stream_leave(struct stream *stream) {
    if (!--stream->users) free(stream);
}

void stream_drop(long fd);

struct stream *stream_new(long fd, uint8_t naming, bool is_pipe);

/* Two ends that know one another from the start; a pipe's first one is read from. */
void stream_pair(long one, long other, bool is_pipe);

void stream_share(long fd, long copy);

#endif
