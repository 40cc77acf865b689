/* The bytes of a trace file, version 2, as C sees them: the twin of records/header.py and records/event.py.
 *
 * Invariant: every number here equals the one of the same name there (tests/recorder/test_layout.py compares them), and
 * no struct has padding, so a struct stored in the mapping is the file format. Little-endian machines only. */

#ifndef CLEW_LAYOUT_H
#define CLEW_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the trace file is little-endian; this machine uses the Python recorder"
#endif

#define MAGIC "CLEWREC\0"
#define VERSION 2
#define HEADER_SIZE 4096
#define CHUNK_SIZE 65536
#define CHUNK_HEADER_SIZE 64
#define CHUNK_MAGIC 0x4B4E4843u
#define INFO_OFFSET 256
#define RING_OFFSET 3072
#define RING_CHUNKS 256
#define INFO_MAX (RING_OFFSET - INFO_OFFSET - 4)

#define RECORD_SIZE 16
#define MAX_SLOTS 255
#define MAX_TEXT ((MAX_SLOTS - 1) * 16)
#define FLAG_TRUNCATED 1
#define FLAG_AMBIGUOUS 4
#define FLAG_BYTES 8
#define FLAG_OVER 16

enum clock_kind { CLOCK_CYCLES = 1, CLOCK_NANOSECONDS = 2 };

enum state { STATE_RECORDING = 1, STATE_CLOSED = 2, STATE_QUOTA = 3, STATE_FAILED = 4 };

enum chunk_kind { CHUNK_EVENTS = 1, CHUNK_DEFINITIONS = 2, CHUNK_COUNTERS = 3 };

/* In use to finished, finished to dropped, dropped or free to in use: the recorder. The other steps: the collector. */
enum chunk_state {
    CHUNK_IN_USE = 0, CHUNK_FINISHED = 1, CHUNK_PACKED = 2, CHUNK_FREE = 3, CHUNK_RETIRED = 4, CHUNK_DROPPED = 5
};

/* Only the kinds that the recorder itself writes or looks at. */
enum kind {
    KIND_ENTER = 1, KIND_EXIT = 2, KIND_UNWIND = 3, KIND_SUSPEND = 4, KIND_RESUME = 5,
    KIND_SEND = 8, KIND_RECEIVE = 9, KIND_JOIN = 10, KIND_RELEASE = 11, KIND_ACQUIRE = 12,
    KIND_SCOPE_BEGIN = 16, KIND_SCOPE_END = 17, KIND_STEP_BEGIN = 18, KIND_STEP_END = 19,
    KIND_REQUEST = 20,
    KIND_GAP = 28,
    KIND_THREAD = 66, KIND_STRAND = 67, KIND_NOTE = 68,
};

struct file_header {
    char magic[8];
    uint16_t version, header_size;
    uint32_t chunk_size, pid, parent_pid;
    uint8_t clock, state;
    uint16_t flags;
    uint32_t reserved;
    uint64_t start_ticks, start_monotonic_ns, start_wall_ns;
    uint64_t last_ticks, last_monotonic_ns;
    uint64_t chunks, dropped;
    uint64_t uid, parent_uid;
    uint64_t finished;              /* chunks that were marked finished */
    uint32_t ring_head, ring_tail;  /* free chunks ever put in by the collector, and ever taken out by the recorder */
    uint64_t packed_bytes, retired; /* the collector's: bytes of the packed files, chunks that are holes for good */
    uint64_t overwritten, overwritten_ticks; /* records whose chunks were dropped unpacked, and the ticks of the last */
};

struct chunk_header {
    uint32_t magic;
    uint16_t kind, reserved;
    uint64_t native_id;
    uint32_t serial, number;
    uint64_t ticks, monotonic_ns;
    uint32_t state;
    uint8_t zero[20];
};

struct record {
    uint64_t ticks, word;
};

struct extension {
    uint16_t length, flags;
    uint32_t channel;
    uint64_t key;
};

struct counter {
    uint64_t site, calls;
};

_Static_assert(offsetof(struct file_header, state) == 25, "STATE_OFFSET");
_Static_assert(offsetof(struct file_header, last_ticks) == 56, "LAST_TICKS_OFFSET");
_Static_assert(offsetof(struct file_header, chunks) == 72, "CHUNKS_OFFSET");
_Static_assert(offsetof(struct file_header, dropped) == 80, "DROPPED_OFFSET");
_Static_assert(offsetof(struct file_header, finished) == 104, "HEADER, FINISHED_OFFSET");
_Static_assert(offsetof(struct file_header, ring_head) == 112, "RING_HEAD_OFFSET");
_Static_assert(offsetof(struct file_header, ring_tail) == 116, "RING_TAIL_OFFSET");
_Static_assert(offsetof(struct file_header, packed_bytes) == 120, "PACKED_BYTES_OFFSET");
_Static_assert(offsetof(struct file_header, retired) == 128, "RETIRED_OFFSET");
_Static_assert(offsetof(struct file_header, overwritten) == 136, "OVERWRITTEN_OFFSET");
_Static_assert(offsetof(struct file_header, overwritten_ticks) == 144, "OVERWRITTEN_OFFSET + 8");
_Static_assert(offsetof(struct chunk_header, state) == 40, "CHUNK_STATE_OFFSET");
_Static_assert(RING_OFFSET + RING_CHUNKS * sizeof(uint32_t) == HEADER_SIZE, "RING_OFFSET");
_Static_assert(sizeof(struct chunk_header) == CHUNK_HEADER_SIZE, "CHUNK_HEADER");
_Static_assert(sizeof(struct record) == RECORD_SIZE && sizeof(struct extension) == 16, "records");

static inline uint64_t pack_word(uint64_t kind, uint64_t site, uint64_t slots, uint64_t flags) {
    return kind | slots << 8 | flags << 16 | site << 32;
}

#endif
