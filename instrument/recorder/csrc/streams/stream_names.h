/* Names of connections that both ends can compute: their addresses, or inodes for connections without an address. */
#ifndef CLEW_STREAMS_STREAM_NAMES_H
#define CLEW_STREAMS_STREAM_NAMES_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "streams/streams.h"

/* Gives a connection its name. False when that can't be, yet or ever. */
COLD bool stream_name_now(struct stream *stream, int fd);

/* The stream at a descriptor, when it is known by its name. */
static inline struct stream *stream_of(long fd) {
    struct stream *stream = stream_at(fd);
    if (LIKELY(!stream || stream->naming == NAMED)) return stream;
    return stream_name_now(stream, (int)fd) ? stream : NULL;
}

bool is_byte_stream(int fd);

/* A connection that has just begun. */
void stream_connect(long fd, uint8_t naming);

#endif
