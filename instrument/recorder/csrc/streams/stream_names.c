#include "streams/stream_names.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#endif

#include "store/sampling.h"

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
        .body = {.sdiag_family = AF_UNIX,
                 .udiag_states = UINT32_MAX,
                 .udiag_ino = (uint32_t)inode_of(fd),
                 .udiag_show = UDIAG_SHOW_PEER,
                 .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    _Alignas(8) char answer[512];
    int asking = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (asking < 0) return 0;
    ssize_t length = -1;
    if (send(asking, &ask, sizeof ask, 0) == (ssize_t)sizeof ask) length = recv(asking, answer, sizeof answer, MSG_DONTWAIT);
    close(asking);
    struct nlmsghdr *header = (struct nlmsghdr *)answer;
    size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
    if (length < (ssize_t)at || header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len > (size_t)length) return 0;
    while (at + sizeof(struct nlattr) <= header->nlmsg_len) {
        struct nlattr *attribute = (struct nlattr *)(answer + at);
        if (attribute->nla_len < sizeof *attribute || at + attribute->nla_len > header->nlmsg_len) break;
        if (attribute->nla_type == UNIX_DIAG_PEER && attribute->nla_len == sizeof *attribute + sizeof(uint32_t))
            peer = *(uint32_t *)(attribute + 1);
        at += NLA_ALIGN(attribute->nla_len);
    }
#endif
    return peer;
}

/* The keys of the two directions differ in their lowest bit, so that a reader finds the other direction of a connection. */
static void stream_name(struct stream *stream, uint64_t name, bool odd_out, bool odd_in) {
    stream->out.key = (name & ~(uint64_t)1) | odd_out;
    stream->in.key = (name & ~(uint64_t)1) | odd_in;
    stream->naming = NAMED;
}

COLD bool stream_name_now(struct stream *stream, int fd) {
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
        stream_name(stream, name_mix(streams.salt + 1, &inode, sizeof inode), connected, !connected);
        return true;
    }
    struct endpoint ends[2];
    bool local, ignored;
    if (!endpoint_of(&own, &ends[0], &local) || !endpoint_of(&other, &ends[1], &ignored)) {
        stream_drop(fd);
        return false;
    }
    /* A socket that is connected to itself has one direction. */
    int order = memcmp(&ends[0], &ends[1], sizeof ends[0]);
    struct endpoint sorted[2] = {ends[order > 0], ends[order <= 0]};
    stream_name(stream, name_mix(local ? streams.salt : 0, sorted, sizeof sorted), order > 0, order < 0);
    return true;
}

bool is_byte_stream(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) && type == SOCK_STREAM;
}

void stream_connect(long fd, uint8_t naming) {
    if (!is_byte_stream((int)fd)) {
        stream_drop(fd);
        return;
    }
    struct stream *old = stream_at(fd), *made;
    if (old && old->naming == NAMED && naming == AS_CONNECTED) {
        /* Asked whether it is connected by now? Then it keeps its name. */
        struct stream again = {.naming = AS_CONNECTED};
        if (stream_name_now(&again, (int)fd) && again.out.key == old->out.key) return;
    }
    made = stream_new(fd, naming, false);
    /* The other end may be gone later. */
    if (made && naming == AS_ACCEPTED) stream_name_now(made, (int)fd);
}
