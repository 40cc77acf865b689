/* The calls that create, use and end streams of bytes: methods of `socket.socket` and `io.FileIO`, functions of `os`
 * and others. */
#ifndef CLEW_STREAMS_TRANSFER_TABLE_H
#define CLEW_STREAMS_TRANSFER_TABLE_H

#include "core.h"

#include <errno.h>
#include <stdint.h>

#include "hooks/methods.h"

enum owner { OF_SOCKET, OF_FILE, OF_MODULE };

enum doing {
    SENDS,
    SENDS_ALL,
    SENDS_LIST,
    SENDS_COUNT,
    RECEIVES,
    RECEIVES_ALL,
    CONNECTS,
    ACCEPTS,
    CLOSES,
    CLOSES_RANGE,
    SHUTS,
    MAKES_PIPE,
    MAKES_PAIR,
    COPIES,
    COPIES_TO,
    CONTROLS,
    STARTS,
    STARTS_ANY,
    SPLICES,
    WAKES,
    OPENS,
};

/* name, of what, does, which argument is the data, which one the flags of a socket's call, its name */
#define TRANSFERS(X)                               \
    X(send, OF_SOCKET, SENDS, 0, 1)                \
    X(sendall, OF_SOCKET, SENDS_ALL, 0, 1)         \
    X(sendto, OF_SOCKET, SENDS, 0, -3)             \
    X(sendmsg, OF_SOCKET, SENDS_LIST, 0, 2)        \
    X(recv, OF_SOCKET, RECEIVES, -1, 1)            \
    X(recvfrom, OF_SOCKET, RECEIVES, -1, 1)        \
    X(recv_into, OF_SOCKET, RECEIVES, -1, 2)       \
    X(recvfrom_into, OF_SOCKET, RECEIVES, -1, 2)   \
    X(recvmsg, OF_SOCKET, RECEIVES, -1, 2)         \
    X(recvmsg_into, OF_SOCKET, RECEIVES, -1, 2)    \
    X(connect, OF_SOCKET, CONNECTS, -1, -1)        \
    X(connect_ex, OF_SOCKET, CONNECTS, -1, -1)     \
    X(_accept, OF_SOCKET, ACCEPTS, -1, -1)         \
    X(close, OF_SOCKET, CLOSES, -1, -1)            \
    X(shutdown, OF_SOCKET, SHUTS, -1, -1)          \
    X(write, OF_FILE, SENDS, 0, -1)                \
    X(read, OF_FILE, RECEIVES, -1, -1)             \
    X(readinto, OF_FILE, RECEIVES, -1, -1)         \
    X(readall, OF_FILE, RECEIVES_ALL, -1, -1)      \
    X(close, OF_FILE, CLOSES, -1, -1)              \
    X(write, OF_MODULE, SENDS, 1, -1)              \
    X(writev, OF_MODULE, SENDS_LIST, 1, -1)        \
    X(sendfile, OF_MODULE, SENDS_COUNT, 3, -1)     \
    X(read, OF_MODULE, RECEIVES, -1, -1)           \
    X(readv, OF_MODULE, RECEIVES, -1, -1)          \
    X(splice, OF_MODULE, SPLICES, -1, -1)          \
    X(close, OF_MODULE, CLOSES, -1, -1)            \
    X(closerange, OF_MODULE, CLOSES_RANGE, -1, -1) \
    X(pipe, OF_MODULE, MAKES_PIPE, -1, -1)         \
    X(pipe2, OF_MODULE, MAKES_PIPE, -1, -1)        \
    X(socketpair, OF_MODULE, MAKES_PAIR, -1, -1)   \
    X(dup, OF_MODULE, COPIES, -1, -1)              \
    X(dup2, OF_MODULE, COPIES_TO, -1, -1)          \
    X(fcntl, OF_MODULE, CONTROLS, -1, -1)          \
    X(fork_exec, OF_MODULE, STARTS, -1, -1)        \
    X(posix_spawn, OF_MODULE, STARTS_ANY, -1, -1)  \
    X(posix_spawnp, OF_MODULE, STARTS_ANY, -1, -1) \
    X(system, OF_MODULE, STARTS_ANY, -1, -1)       \
    X(execv, OF_MODULE, STARTS_ANY, -1, -1)        \
    X(execve, OF_MODULE, STARTS_ANY, -1, -1)       \
    X(set_wakeup_fd, OF_MODULE, WAKES, -1, -1)     \
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
SHARED struct transfer transfers[TRANSFER_COUNT];

#endif
