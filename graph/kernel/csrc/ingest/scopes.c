#include "scopes.h"

#include <stdlib.h>

#include "trace_format.h"

static void *grown(void *array, size_t used, size_t *room, size_t width, bool *failed) {
    if (used < *room) return array;
    size_t wanted = *room * 2 + 256;
    void *more = realloc(array, wanted * width);
    if (!more) {
        *failed = true;
        return array;
    }
    *room = wanted;
    return more;
}

#define ROOM(array, used, room) \
    (split->array = grown(split->array, split->used, &split->room, sizeof *split->array, &split->failed), !split->failed)

/* The number of the call that a row's event is in, -1 for none. */
static int64_t call_number(Split *split, int64_t row) {
    int64_t enter = get_row(split->call, split->wide, row);
    return enter < 0 ? -1 : find_call(&split->finder, enter);
}

static int64_t call_end(const Split *split, int64_t call, int64_t since) {
    for (; call >= 0; call = split->caller[call])
        if (split->exit[call] >= since) return split->exit[call];
    return split->stop - 1;
}

static bool runs_inside(const Split *split, int64_t call, int64_t outer) {
    if (call == outer) return false;
    while (call >= 0) {
        call = split->caller[call];
        if (call == outer) return true;
    }
    return false;
}

static uint32_t region_add(Split *split, uint32_t kind, int64_t opener, int64_t parent) {
    if (!ROOM(regions, made, region_room)) return 0;
    split->regions[split->made] = (Region){split->strand, kind, opener, parent, -1, -1};
    return (uint32_t)split->made++;
}

static void change(Split *split, int64_t row) {
    if (row >= split->stop) return;
    Change *last = split->changes + split->changed - 1;
    if (last->row == row) last->region = split->current;
    else if (last->region != split->current && ROOM(changes, changed, change_room))
        split->changes[split->changed++] = (Change){row, split->current};
}

/* The open scopes are others than before. */
static void opened(Split *split) {
    split->current = split->depth ? split->open[split->depth - 1].region : split->root;
    split->next_end = split->stop;
    for (size_t at = 0; at < split->depth; at++)
        if (split->open[at].end < split->next_end) split->next_end = split->open[at].end;
    if (!split->depth) split->pooled = 0;
}

static void expire(Split *split, int64_t row) {
    while (split->next_end < row) {
        int64_t end = split->next_end;
        size_t kept = 0;
        for (size_t at = 0; at < split->depth; at++)
            if (split->open[at].end > end) split->open[kept++] = split->open[at];
        split->depth = kept;
        opened(split);
        change(split, end + 1);
        if (!kept) return;
    }
}

static void end_explicit(Split *split, int64_t row) {
    for (size_t at = split->depth; at-- > 0;) {
        if (!split->open[at].explicit_) continue;
        /* The end itself belongs to the scope, and so ends what was opened inside it. */
        split->depth = at + 1;
        split->open[at].end = row;
        opened(split);
        change(split, row);
        return;
    }
}

/* The last row before it that counts; -1 when the strand begins here. */
static int64_t row_before(const Split *split, int64_t row) {
    for (row--; row >= split->start; row--) {
        uint8_t kind = split->kind[row];
        bool fact = kind >= KIND_WAIT && kind <= KIND_PAUSE;
        if (!fact && kind != KIND_PAYLOAD && kind != KIND_RELEASE && kind != KIND_ACQUIRE) return row;
    }
    return -1;
}

/* Is the row before an opening the ENTER of the call around it? */
static bool enters(const Split *split, int64_t before, int64_t call) {
    return before >= 0 && call >= 0 && split->finder.enter[call] == before && split->kind[before] == KIND_ENTER;
}

static void channel_add(Split *split, Scope *scope, uint32_t channel) {
    for (int64_t at = scope->channels; at >= 0; at = split->pool[at].next)
        if (split->pool[at].channel == channel) return;
    if (!ROOM(pool, pooled, pool_room)) return;
    split->pool[split->pooled] = (Channel){channel, scope->channels};
    scope->channels = (int64_t)split->pooled++;
}

static void end_same_channel(Split *split, uint32_t channel, int64_t call) {
    for (size_t at = split->depth; at-- > 0;) {
        const Scope *scope = split->open + at;
        if (scope->explicit_) return;
        for (int64_t place = scope->channels; place >= 0; place = split->pool[place].next) {
            if (split->pool[place].channel != channel) continue;
            if (!runs_inside(split, call, scope->owner)) {
                split->depth = at;
                opened(split);
            }
            return;
        }
    }
}

static void begin(Split *split, int64_t row, uint8_t kind, uint32_t channel, int64_t call) {
    int64_t before = row_before(split, row);
    /* An opening that directly follows another one shares its scope; a SCOPE_BEGIN has an end of its own. */
    if (kind != KIND_SCOPE_BEGIN && before >= 0 && before == split->last_opening && split->depth &&
        split->open[split->depth - 1].owner == call) {
        Scope *scope = split->open + split->depth - 1;
        channel_add(split, scope, channel);
        if (kind == KIND_REQUEST) split->regions[scope->region].kind = split->of_request;
        split->last_opening = row;
        return;
    }
    int64_t start = enters(split, before, call) ? before : row;
    if (kind == KIND_RECEIVE) end_same_channel(split, channel, call);
    uint8_t of = kind == KIND_RECEIVE ? split->of_receive : kind == KIND_REQUEST ? split->of_request : split->of_scope;
    uint32_t region = region_add(split, of, row, split->current);
    int64_t end = call_end(split, call, row);
    if (!ROOM(open, depth, open_room)) return;
    Scope *scope = split->open + split->depth++;
    *scope = (Scope){region, end, call, -1, kind == KIND_SCOPE_BEGIN};
    if (kind == KIND_RECEIVE) channel_add(split, scope, channel);
    split->current = region;
    if (end < split->next_end) split->next_end = end;
    change(split, start);
    split->last_opening = row;
}

void split_strand(Split *split, const uint32_t *channel, const int32_t *ext) {
    split->root = split->current = region_add(split, split->of_root, split->start, -1);
    split->next_end = split->stop;
    split->last_opening = -1;
    split->depth = split->pooled = 0;
    if (split->start == split->stop || !ROOM(changes, changed, change_room)) return;
    split->changes[split->changed++] = (Change){split->start, split->root};
    for (int64_t row = split->start; row < split->stop && !split->failed; row++) {
        uint8_t kind = split->kind[row];
        if (kind != KIND_RECEIVE && kind != KIND_SCOPE_BEGIN && kind != KIND_REQUEST && kind != KIND_SCOPE_END) continue;
        if (split->next_end < row) expire(split, row);
        if (kind == KIND_SCOPE_END) end_explicit(split, row);
        else begin(split, row, kind, ext[row] < 0 ? 0 : channel[ext[row]], call_number(split, row));
    }
    if (split->next_end < split->stop) expire(split, split->stop);
}

void split_free(Split *split) {
    free(split->caller);
    free(split->changes);
    free(split->regions);
    free(split->open);
    free(split->pool);
}
