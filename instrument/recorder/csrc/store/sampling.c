#include "store/sampling.h"

#include <stdlib.h>
#include <string.h>

#include "store/records.h"
#include "trace_format.h"

#define FLOW_MARK 0xC1E55Au /* first 24 bits of a key that carries its state in its last two, to other processes */
#define KEY_SETS (1u << 15)
#define STRAND_SETS (1u << 13)
enum { BY_NOTHING, BY_STRAND, BY_SCOPE, BY_RECEIVE, BY_REQUEST };

struct flows flows;

void flows_start(double share) {
    flows.on = share >= 0 && share < 1;
    flows.share = share;
    flows.kept = flows.dropped = 0;
    if (!flows.on) return;
    flows.number = flow_mix(store.uid);
    if (!flows.keys) flows.keys = calloc(KEY_SETS, sizeof *flows.keys);
    if (!flows.strands) flows.strands = calloc(STRAND_SETS, sizeof *flows.strands);
    if (!flows.keys || !flows.strands) flows.on = false;
    else {
        memset(flows.keys, 0, KEY_SETS * sizeof *flows.keys);
        memset(flows.strands, 0, STRAND_SETS * sizeof *flows.strands);
    }
}

/* ---- What keys and strands carry ---- */

static inline bool is_marked(uint64_t key) { return key >> 40 == FLOW_MARK; }

uint64_t flow_mark(uint64_t key) {
    if (!flows.on) return key;
    key = (uint64_t)FLOW_MARK << 40 | (key & 0xFFFFFFFFFFu);
    return (key & ~(uint64_t)3) | self.flow.state;
}

static unsigned flow_of_key(uint64_t key) {
    if (is_marked(key)) return (unsigned)(key & 3) <= FLOW_DROPPED ? (unsigned)(key & 3) : FLOW_NONE;
    uint64_t *set = flows.keys[flow_mix(key >> 2) % KEY_SETS];
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i] >> 2 == key >> 2) return (unsigned)(set[i] & 3);
    return FLOW_NONE;
}

void flow_send(uint64_t key, unsigned state) {
    if (is_marked(key)) return;
    uint64_t *set = flows.keys[flow_mix(key >> 2) % KEY_SETS];
    unsigned place = 0;
    while (place < WAYS - 1 && set[place] >> 2 != key >> 2) place++;
    if (set[place] >> 2 != key >> 2 && state == FLOW_NONE) return;
    /* The newest first; the oldest makes way. */
    memmove(set + 1, set, place * sizeof *set);
    set[0] = state == FLOW_NONE ? 0 : (key & ~(uint64_t)3) | state;
}

static struct strand_flow *strand_flow_find(uint64_t key) {
    struct strand_flow *set = flows.strands[flow_mix(key) % STRAND_SETS];
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].key == key) return &set[i];
    return NULL;
}

static void strand_flow_keep(uint64_t key, const struct flow *flow) {
    struct strand_flow *found = strand_flow_find(key);
    if (!found) {
        struct strand_flow *set = flows.strands[flow_mix(key) % STRAND_SETS];
        memmove(set + 1, set, (WAYS - 1) * sizeof *set);
        found = set;
    }
    found->key = key;
    found->flow = *flow;
}

/* Takes back the last record of the chunk. */
static void flow_unwrite(size_t size) {
    self.cur -= size;
    __atomic_store_n((uint64_t *)(void *)self.cur, 0, __ATOMIC_RELEASE);
    memset(self.cur, 0, size);
}

/* The site of the ENTER that is the last record, or 0. */
static uint64_t last_enter(void) {
    if (!self.chunk || self.cur - RECORD_SIZE < self.chunk + CHUNK_HEADER_SIZE) return 0;
    struct record *last = (struct record *)(self.cur - RECORD_SIZE);
    return last->ticks && (last->word & 0xFFFFFFFFu) == KIND_ENTER ? last->word >> 32 : 0;
}

/* The site of the innermost call under way, as far as the calling thread's chunk tells; 0 when it does not. */
static uint64_t enclosing_site(void) {
    enum { DEEPEST = 256 };
    uint32_t sites[DEEPEST];
    uint32_t depth = 0;
    for (char *at = self.chunk ? self.chunk + CHUNK_HEADER_SIZE : self.cur; at < self.cur;) {
        uint64_t word = ((struct record *)at)->word, kind = word & 0xFF;
        at += RECORD_SIZE * (1 + (word >> 8 & 0xFF));
        if (kind == KIND_ENTER || kind == KIND_RESUME) {
            if (depth < DEEPEST) sites[depth] = (uint32_t)(word >> 32);
            depth++;
        } else if (kind > KIND_ENTER && kind < KIND_RESUME) {
            depth -= depth > 0;
        } else if (kind == KIND_STEP_BEGIN || kind == KIND_STEP_END) {
            depth = 0;
        }
    }
    return depth && depth <= DEEPEST ? sites[depth - 1] : 0;
}

static bool stack_there(void) {
    if (!self.stack) self.stack = calloc(1, sizeof *self.stack);
    return self.stack != NULL;
}

/* The calls that begin and end inside a flow, so that their ends differ from the end of the call in which the flow began. */
static void frames_push(uint32_t site) {
    if (self.frames_used < MAX_FRAMES && stack_there()) self.stack->frames[self.frames_used] = site;
    self.frames_used++;
}

/* Removes the innermost call of `site`, and all above it. Returns false without one. */
static bool frames_pop(uint32_t site) {
    for (uint32_t i = self.frames_used; i > self.flow.frames; i--)
        if (i > MAX_FRAMES || !self.stack || self.stack->frames[i - 1] == site) {
            self.frames_used = i - 1;
            return true;
        }
    return false;
}

static void flow_begin(unsigned state, unsigned origin, uint32_t channel, uint64_t site) {
    uint64_t entered = last_enter();
    if (!site) site = entered ? entered : enclosing_site();
    bool whole = entered == site && site;
    self.flow = (struct flow){.state = (uint8_t)state,
                              .origin = (uint8_t)origin,
                              .channel = channel,
                              .whole = whole,
                              .owner = (uint32_t)site,
                              .frames = self.frames_used,
                              .depth = self.flow.depth,
                              .open = self.flow.open,
                              .step = self.flow.step,
                              .step_site = self.flow.step_site};
    if (whole && state == FLOW_DROPPED) flow_unwrite(RECORD_SIZE);
}

static void flow_end(void) {
    self.frames_used = self.flow.frames;
    self.flow = (struct flow){.frames = self.frames_used,
                              .depth = self.flow.depth,
                              .open = self.flow.open,
                              .step = self.flow.step,
                              .step_site = self.flow.step_site};
}

static void flow_push(struct flow inner) {
    if (self.flow.depth < MAX_FLOWS && stack_there()) self.stack->outer[self.flow.depth] = self.flow;
    inner.frames = self.frames_used;
    inner.depth = self.flow.depth + 1;
    inner.open = inner.state != FLOW_DROPPED;
    self.flow = inner;
}

static void flow_pop(void) {
    if (!self.flow.depth) /* it began before we did */
        return;
    uint32_t depth = self.flow.depth - 1;
    self.frames_used = self.flow.frames;
    self.flow = depth < MAX_FLOWS && self.stack ? self.stack->outer[depth] : (struct flow){.depth = depth};
}

static unsigned flow_decide(void) {
    double hash = (double)(flow_mix(++flows.number) >> 11) / (double)(1ull << 53);
    bool keep = hash < flows.share;
    ++*(keep ? &flows.kept : &flows.dropped);
    return keep ? FLOW_KEPT : FLOW_DROPPED;
}

bool flow_admits(uint64_t kind, uint64_t site, uint64_t key, uint32_t channel) {
    struct flow *flow = &self.flow;
    bool first = !self.chunk && !self.flow.depth && !self.born;
    flow_open();
    self.born = true;
    if (flow->pending && kind != KIND_JOIN) flow->pending = false;
    switch (kind) {
    case KIND_SEND:
        flow_send(key, flow->state);
        break;
    case KIND_JOIN:
        if (flow->pending || first) {
            unsigned state = flow_of_key(key);
            if (flow->pending && state == FLOW_DROPPED && self.chunk) {
                flow_unwrite(2 * RECORD_SIZE); /* its STEP_BEGIN */
                flow->open = false;
            }
            flow->pending = false;
            flow->state = (uint8_t)state;
            flow->origin = state ? BY_STRAND : BY_NOTHING;
        }
        break;
    case KIND_STEP_BEGIN: {
        struct strand_flow *found = strand_flow_find(key);
        flow_push(found ? found->flow : (struct flow){.pending = true});
        flow->step = key;
        flow->step_site = (uint32_t)site;
        break;
    }
    case KIND_SCOPE_BEGIN: {
        unsigned state = key ? flow_of_key(key) : FLOW_NONE;
        if (!state) state = flow->state;
        flow_push((struct flow){.state = (uint8_t)state, .origin = state ? BY_SCOPE : BY_NOTHING});
        break;
    }
    case KIND_STEP_END:
    case KIND_SCOPE_END: {
        bool admitted = flow->open;
        if (kind == KIND_STEP_END && self.flow.depth) strand_flow_keep(key, flow);
        flow_pop();
        if (!admitted) flow_settle();
        return admitted;
    }
    case KIND_RECEIVE:
        if (!flow->state || (flow->origin == BY_RECEIVE && flow->channel == channel)) {
            unsigned state = flow_of_key(key);
            if (flow->state) flow_end();
            if (state) flow_begin(state, BY_RECEIVE, channel, 0);
        }
        break;
    case KIND_REQUEST:
        if (!flow->state) flow_begin(flow_decide(), BY_REQUEST, 0, site);
        break;
    }
    if (self.flow.state != FLOW_DROPPED) {
        flow_reopen();
        return true;
    }
    flow_settle();
    return false;
}

bool flow_admits_plain(uint64_t word) {
    struct flow *flow = &self.flow;
    uint32_t site = (uint32_t)(word >> 32);
    bool dropped = flow->state == FLOW_DROPPED;
    flow_open();
    if (flow->owner) switch (word & 0xFF) {
        case KIND_RESUME:
            if (self.frames_used == flow->frames && site == flow->owner) break;
            /* fall through */
        case KIND_ENTER:
            frames_push(site);
            break;
        case KIND_SUSPEND:
            frames_pop(site);
            break;
        case KIND_EXIT:
        case KIND_UNWIND:
            if (!frames_pop(site) && site == flow->owner) {
                /* The call that the flow began in is over, and is as whole as the flow. */
                bool whole = flow->whole;
                flow_end();
                flow_reopen();
                if (dropped && whole) flow_settle();
                return !(dropped && whole);
            }
            break;
        }
    if (dropped) flow_settle();
    return !dropped;
}
