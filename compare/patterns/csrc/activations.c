#include "activations.h"

#include <stdlib.h>

#include "trace_format.h"

enum { CALLED = 0, RESUMED = 4, RETURNED = 0, RAISED = 1, SUSPENDED = 2, UNFINISHED = 3 };

void activations_free(Activations *to) {
    free(to->parent);
    free(to->size);
    free(to->way);
    free(to->first);
    free(to->last);
    free(to->own);
    free(to->call);
    free(to->left);
    free(to->child);
    free(to->stack);
    free(to->open);
}

bool activations_make(Activations *to, int64_t start, int64_t rows, int64_t most) {
    size_t room = (size_t)most + 1;
    *to = (Activations){.start = start, .latest = -1};
    to->parent = malloc(room * 4);
    to->size = malloc(room * 4);
    to->way = malloc(room);
    to->first = malloc(room * 8);
    to->last = malloc(room * 8);
    to->own = malloc(room * 8);
    to->call = malloc(room * 8);
    to->left = malloc(room * 8);
    to->child = malloc(room * 4);
    to->stack = malloc(room * 4);
    to->open = calloc((size_t)rows + 1, 1);
    return to->parent && to->size && to->way && to->first && to->last && to->own && to->call && to->left && to->child &&
           to->stack && to->open;
}

static void begin(Activations *to, int64_t row, int64_t call, uint8_t how) {
    int32_t at = to->count++;
    to->parent[at] = to->depth ? to->stack[to->depth - 1] : -1;
    to->size[at] = 1;
    to->way[at] = how + UNFINISHED;
    to->first[at] = to->last[at] = row;
    to->own[at] = to->left[at] = 0;
    to->call[at] = call;
    to->child[at] = -1;
    to->stack[to->depth++] = at;
    to->open[call - to->start] = 1;
    to->latest = -1;
}

static void end(Activations *to, int64_t row, uint8_t how, int64_t left) {
    int32_t at = to->stack[--to->depth];
    to->open[to->call[at] - to->start] = 0;
    to->way[at] = (uint8_t)((to->way[at] & RESUMED) + how);
    to->last[at] = row;
    to->left[at] = left;
    to->size[at] = to->count - at;
    if (to->parent[at] >= 0) to->child[to->parent[at]] = at;
    to->latest = at;
}

static void wake(Activations *to, int64_t row, int64_t call, int64_t left) {
    int32_t at = to->latest;
    if (at < 0 || to->call[at] != call || (to->way[at] & 3) != SUSPENDED || to->left[at] == left) {
        begin(to, row, call, RESUMED);
        return;
    }
    to->stack[to->depth++] = at;
    to->open[call - to->start] = 1;
    to->latest = to->child[at];
}

void walk_strand(Activations *to, int64_t rows, const uint8_t *kind, const void *call, bool wide, const int64_t *ts,
                 const uint8_t *idle) {
    int64_t left = 0;
    for (int64_t at = 0; at < rows; at++) {
        int64_t row = to->start + at, of = wide ? ((const int64_t *)call)[at] : ((const int32_t *)call)[at];
        uint8_t what = kind[at];
        if (to->depth && !idle[at - 1]) to->own[to->stack[to->depth - 1]] += ts[at] - ts[at - 1];
        if (what == KIND_STEP_END) left++;
        else if (what == KIND_ENTER) begin(to, row, of, CALLED);
        else if (what == KIND_RESUME) wake(to, row, of, left);
        else if ((what == KIND_EXIT || what == KIND_UNWIND || what == KIND_SUSPEND) && of >= 0) {
            if (!to->open[of - to->start]) wake(to, row, of, left);
            while (to->call[to->stack[to->depth - 1]] != of) end(to, row, UNFINISHED, left);
            end(to, row, what == KIND_EXIT ? RETURNED : what == KIND_UNWIND ? RAISED : SUSPENDED, left);
        }
    }
    while (to->depth) end(to, to->start + rows - 1, UNFINISHED, left);
}
