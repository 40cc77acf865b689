#include "streams/streams.h"

#include <string.h>

#include "hooks/operands.h"

enum { MOST_DESCRIPTORS = 1 << 20 };

struct streams streams;

__thread uint32_t courses_muted; /* what the calling thread sends has edges of its own */

__thread struct handed handed;

void stream_drop(long fd) {
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

struct stream *stream_new(long fd, uint8_t naming, bool is_pipe) {
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

void stream_pair(long one, long other, bool is_pipe) {
    struct stream *near = stream_new(one, NAMED, is_pipe), *far = stream_new(other, NAMED, is_pipe);
    if (!near || !far) return;
    near->in.key = far->out.key = key_fresh();
    if (!is_pipe) near->out.key = far->in.key = near->in.key ^ 1;
}

void stream_share(long fd, long copy) {
    struct stream *stream = stream_at(fd);
    if (fd == copy) return;
    if (stream) stream_put(copy, stream);
    else stream_drop(copy);
}
