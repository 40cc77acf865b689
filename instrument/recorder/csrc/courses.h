/* Streams of bytes: which end of a connection or a pipe a descriptor is, and how far each direction of it has come.
 *
 * A direction (a *course*) has a key that both ends know, and counts its bytes. A SEND names the bytes that a call is about
 * to write, a JOIN those that one has read, as "from-to"; "+" is before the first of a connection. Whoever builds the graph
 * compares the two. A partial write claims more than it wrote: the next one, which begins where it ended, takes that back.
 * Where the count can't be known any longer, "from-" says that nothing is known from there on; "=from", by the one program
 * that was given the end there and nobody else uses, that this does know. "to$" is the end of a pipe, which a read has seen.
 * Invariants: a stream is known from its first byte or not at all; what is uncertain is said before it can mislead. Everything runs with the GIL
 * held, but for the calls themselves. */

#ifndef CLEW_COURSES_H
#define CLEW_COURSES_H

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#ifdef __linux__
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#endif

#include "operands.h"

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
    if (!--stream->users)
        free(stream);
}

static void stream_drop(long fd) {
    struct stream *stream = stream_at(fd);
    if (!stream)
        return;
    streams.of[fd] = NULL;
    stream_leave(stream);
}

/* Puts a stream at a descriptor, in the place of what was there; NULL when there is no room for it. */
static struct stream *stream_put(long fd, struct stream *stream) {
    if (fd < 0 || fd >= MOST_DESCRIPTORS)
        return NULL;
    if (fd >= streams.room) {
        int room = streams.room ? streams.room : 64;
        while (room <= fd)
            room *= 2;
        struct stream **of = realloc(streams.of, (size_t)room * sizeof *of);
        if (!of)
            return NULL;
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
    if (!stream)
        return NULL;
    stream->naming = naming;
    stream->channel = is_pipe ? streams.pipe_channel : streams.socket_channel;
    stream->send_site = is_pipe ? streams.pipe_send : streams.socket_send;
    stream->receive_site = is_pipe ? streams.pipe_receive : streams.socket_receive;
    struct stream *put = stream_put(fd, stream);
    if (!put)
        free(stream);
    return put;
}

/* Two ends that know one another from the start; a pipe's first one is read from. */
static void stream_pair(long one, long other, bool is_pipe) {
    struct stream *near = stream_new(one, NAMED, is_pipe), *far = stream_new(other, NAMED, is_pipe);
    if (!near || !far)
        return;
    near->in.key = far->out.key = key_fresh();
    if (!is_pipe)
        near->out.key = far->in.key = key_fresh();
}

static void stream_share(long fd, long copy) {
    struct stream *stream = stream_at(fd);
    if (fd == copy)
        return;
    if (stream)
        stream_put(copy, stream);
    else
        stream_drop(copy);
}

/* ---- Names that both ends of a connection find out ---- */

static uint64_t name_mix(uint64_t name, const void *bytes, size_t length) {
    for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, (const char *)bytes + i, length - i < sizeof word ? length - i : sizeof word);
        name = flow_mix(name + 0x9E3779B97F4A7C15u + flow_mix(word));
    }
    return name;
}

struct endpoint {
    uint8_t address[16];
    uint64_t port;
};

/* False when it is of no family that we know. `local`: no other machine has the address. */
static bool endpoint_of(const struct sockaddr_storage *from, struct endpoint *to, bool *local) {
    memset(to, 0, sizeof *to);
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)from;
        memset(to->address + 10, 0xFF, 2); /* as IPv6 writes it */
        memcpy(to->address + 12, &in->sin_addr, 4);
        to->port = ntohs(in->sin_port);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)from;
        memcpy(to->address, &in->sin6_addr, 16);
        to->port = ntohs(in->sin6_port);
    } else {
        return false;
    }
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF}, one[16] = {[15] = 1};
    *local = (!memcmp(to->address, mapped, 12) && to->address[12] == 127) || !memcmp(to->address, one, 16);
    return true;
}

static uint64_t inode_of(int fd) {
    struct stat about;
    return fstat(fd, &about) ? 0 : (uint64_t)about.st_ino;
}

/* The inode of the socket at the other end of a Unix socket, 0 when the kernel does not tell. */
static uint64_t peer_inode(int fd) {
    uint64_t peer = 0;
#ifdef __linux__
    struct {
        struct nlmsghdr header;
        struct unix_diag_req body;
    } ask = {
        .header = {.nlmsg_len = sizeof ask, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_ino = (uint32_t)inode_of(fd),
                 .udiag_show = UDIAG_SHOW_PEER, .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    _Alignas(8) char answer[512];
    int asking = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (asking < 0)
        return 0;
    ssize_t length = -1;
    if (send(asking, &ask, sizeof ask, 0) == (ssize_t)sizeof ask)
        length = recv(asking, answer, sizeof answer, MSG_DONTWAIT);
    close(asking);
    struct nlmsghdr *header = (struct nlmsghdr *)answer;
    size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
    if (length < (ssize_t)at || header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len > (size_t)length)
        return 0;
    while (at + sizeof(struct nlattr) <= header->nlmsg_len) {
        struct nlattr *attribute = (struct nlattr *)(answer + at);
        if (attribute->nla_len < sizeof *attribute || at + attribute->nla_len > header->nlmsg_len)
            break;
        if (attribute->nla_type == UNIX_DIAG_PEER && attribute->nla_len == sizeof *attribute + sizeof(uint32_t))
            peer = *(uint32_t *)(attribute + 1);
        at += NLA_ALIGN(attribute->nla_len);
    }
#endif
    return peer;
}

static void stream_name(struct stream *stream, uint64_t out, uint64_t in) {
    stream->out.key = out;
    stream->in.key = in;
    stream->naming = NAMED;
}

/* Gives a connection its name. False when that can't be, yet or ever. */
static COLD bool stream_name_now(struct stream *stream, int fd) {
    struct sockaddr_storage own, other;
    socklen_t own_length = sizeof own, other_length = sizeof other;
    if (getsockname(fd, (struct sockaddr *)&own, &own_length) || getpeername(fd, (struct sockaddr *)&other, &other_length))
        return false;
    if (own.ss_family == AF_UNIX) {
        bool connected = stream->naming == AS_CONNECTED;
        uint64_t inode = connected ? inode_of(fd) : peer_inode(fd);
        if (!inode) {
            stream_drop(fd);
            return false;
        }
        uint64_t to = name_mix(streams.salt + 1, &inode, sizeof inode), back = name_mix(streams.salt + 2, &inode, sizeof inode);
        stream_name(stream, connected ? to : back, connected ? back : to);
        return true;
    }
    struct endpoint ends[2], reversed[2];
    bool local, ignored;
    if (!endpoint_of(&own, &ends[0], &local) || !endpoint_of(&other, &ends[1], &ignored)) {
        stream_drop(fd);
        return false;
    }
    reversed[0] = ends[1];
    reversed[1] = ends[0];
    uint64_t salt = local ? streams.salt : 0;
    stream_name(stream, name_mix(salt, ends, sizeof ends), name_mix(salt, reversed, sizeof reversed));
    return true;
}

/* The stream at a descriptor, when it is known by its name. */
static inline struct stream *stream_of(long fd) {
    struct stream *stream = stream_at(fd);
    if (LIKELY(!stream || stream->naming == NAMED))
        return stream;
    return stream_name_now(stream, (int)fd) ? stream : NULL;
}

static bool is_byte_stream(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) && type == SOCK_STREAM;
}

/* A connection that has just begun. */
static void stream_connect(long fd, uint8_t naming) {
    if (!is_byte_stream((int)fd)) {
        stream_drop(fd);
        return;
    }
    struct stream *old = stream_at(fd), *made;
    if (old && old->naming == NAMED && naming == AS_CONNECTED) {
        /* Asked whether it is connected by now? Then it keeps its name. */
        struct stream again = {.naming = AS_CONNECTED};
        if (stream_name_now(&again, (int)fd) && again.out.key == old->out.key)
            return;
    }
    made = stream_new(fd, naming, false);
    /* The other end may be gone later. */
    if (made && naming == AS_ACCEPTED)
        stream_name_now(made, (int)fd);
}

/* ---- Records ---- */

static inline char *put_number(char *text, struct course *course, uint64_t number) {
    if (course->written != number || !course->length) {
        char digits[20];
        size_t at = sizeof digits;
        course->written = number;
        do
            digits[--at] = (char)('0' + number % 10);
        while (number /= 10);
        course->length = (uint8_t)(sizeof digits - at);
        memcpy(course->digits, digits + at, course->length);
    }
    memcpy(text, course->digits, sizeof course->digits);
    return text + course->length;
}

static inline void course_put(struct stream *stream, struct course *course, const char *text, size_t length) {
    bool sends = course == &stream->out;
    put_extended(sends ? KIND_SEND : KIND_JOIN, sends ? stream->send_site : stream->receive_site, course->key,
                 stream->channel, text, length, FLAG_BYTES);
    __builtin_prefetch(self.cur + AHEAD, 1);
}

/* `to` is ENDLESS where nothing is known from `from` on. */
static void course_record(struct stream *stream, struct course *course, uint64_t from, uint64_t to) {
    char text[48], *end = text;
    if (!store.active || !course->key)
        return;
    if (!course->begun)
        *end++ = '+';
    course->begun = true;
    end = put_number(end, course, from);
    *end++ = '-';
    if (to != ENDLESS)
        end = put_number(end, course, to);
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
    if (course->state == LOST)
        return;
    course->state = LOST;
    course_record(stream, course, course->at, ENDLESS);
}

static COLD void courses_note(void) {
    static const char what[] = "sockets: several threads used one end of a connection or a pipe at once: its bytes can't be "
                               "told apart, and it has no edges from there on";
    if (!streams.noted && store.active)
        define(KIND_NOTE, 0, what, sizeof what - 1);
    streams.noted = true;
}

/* Has C code used the standard streams itself? What it wrote or read is not counted. */
static COLD bool stdio_used(bool out) {
#ifdef __GLIBC__
    enum { PUTTING = 0x800 };
    if (out)
        return (stdout->_flags | stderr->_flags) & PUTTING;
    return stdin->_IO_read_end != stdin->_IO_read_base || stdin->_IO_buf_end - stdin->_IO_buf_base > 1;
#else
    return false;
#endif
}

/* Before a call: may its bytes be counted? `length`: those that it is about to write. */
static inline bool course_begin(struct stream *stream, struct course *course, uint64_t length) {
    if (UNLIKELY(course->state || course->busy || stream->adopted)) {
        bool alone = !course->busy && (!stream->adopted || !stdio_used(course == &stream->out));
        if (course->state == SURE && course->busy)
            courses_note();
        if (course->state || !alone) {
            course_lose(stream, course);
            return false;
        }
    }
    course->busy = true;
    if (course == &stream->out && length && !courses_muted)
        course_record(stream, course, course->at, course->at + length);
    return true;
}

/* After it: `length` bytes went, of those that were claimed. */
static inline void course_end(struct stream *stream, struct course *course, uint64_t claimed, uint64_t length) {
    course->busy = false;
    if (UNLIKELY(course->state))
        return; /* somebody else's call came in between */
    if (course == &stream->in && length)
        course_record(stream, course, course->at, course->at + length);
    course->at += length;
    if (UNLIKELY(length < claimed) && !courses_muted)
        course_record(stream, course, course->at, course->at);
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
            if (flags >= 0 && !(flags & FD_CLOEXEC))
                stream_give(fd);
        }
}

/* Of a child's own standard streams: it goes on with them, where it was told how. */
static void stream_pass(long fd) {
    for (int i = 0; i < handed.count; i++)
        if (handed.fd[i] == fd)
            return;
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
    if (streams.room && fd >= 0 && !fstat((int)fd, &about) && S_ISFIFO(about.st_mode))
        stream_reopened(&about);
}

/* A forked child goes on with what it has inherited; a call that was under way in another thread went on without it. */
static void courses_forked(void) {
    for (int fd = 0; fd < streams.room; fd++) {
        struct stream *stream = streams.of[fd];
        if (!stream)
            continue;
        struct course *both[2] = {&stream->out, &stream->in};
        for (int i = 0; i < 2; i++) {
            if (both[i]->busy && both[i]->state == SURE)
                both[i]->state = DOUBTFUL;
            both[i]->busy = false;
        }
    }
    streams.noted = false;
    courses_muted = 0;
}

#endif
