#include "objects.h"

#include <stdlib.h>

const char *const NAMES[ARRAYS] = {"start", "end",  "out_first", "in_first", "out",     "out_near", "out_edge",
                                   "into",  "tree", "follow",    "run_row",  "run_pos", "by_row"};
const size_t WIDTHS[ARRAYS] = {4, 4, 4, 4, 12, 4, 4, 12, 8, 8, 4, 4, 4};

bool has(const Py_buffer *buffer, size_t count, size_t width_, const char *name) {
    if ((size_t)buffer->len == count * width_ && (uintptr_t)buffer->buf % (width_ < 8 ? 4 : 8) == 0) return true;
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes where %zu are needed", name, buffer->len, count * width_);
    return false;
}

bool mask_fits(const Py_buffer *buffer, const Plane *plane, const char *name) {
    return !buffer->buf || has(buffer, plane->edges, 1, name);
}

/* One of the spare pieces of scratch, or a new one of zeros, which take memory only where they are written to. */
static void *take_spare(void **spare, size_t size) {
    for (int i = 0; i < POOL; i++)
        if (spare[i]) {
            void *found = spare[i];
            spare[i] = NULL;
            return found;
        }
    void *made = calloc(size, 1);
    if (!made) PyErr_NoMemory();
    return made;
}

static void give_spare(void **spare, void *scratch) {
    for (int i = 0; i < POOL; i++)
        if (!spare[i]) {
            spare[i] = scratch;
            return;
        }
    free(scratch);
}

State *take_state(PlaneObject *self) { return take_spare(self->states, ((size_t)self->plane.regions + 1) * sizeof(State)); }

void give_state(PlaneObject *self, State *state) { give_spare(self->states, state); }

uint32_t *take_marks(PlaneObject *self) { return take_spare(self->marks, ((size_t)self->plane.events + 1) * sizeof(uint32_t)); }

void give_marks(PlaneObject *self, uint32_t *marks) { give_spare(self->marks, marks); }

bool pairs_fit(const Plane *plane, const Py_buffer *regions, const Py_buffer *positions) {
    size_t count = (size_t)regions->len / 4;
    if (!has(regions, count, 4, "regions") || !has(positions, count, 4, "positions")) return false;
    const uint32_t *region = regions->buf, *position = positions->buf;
    for (size_t i = 0; i < count; i++)
        if (region[i] >= plane->regions || position[i] < plane->start[region[i]] ||
            position[i] >= plane->start[region[i] + 1]) {
            PyErr_SetString(PyExc_ValueError, "positions: not in these regions");
            return false;
        }
    return true;
}

bool ranges_fit(const Plane *plane, const Py_buffer *lows, const Py_buffer *highs) {
    size_t count = (size_t)lows->len / 4;
    if (!has(lows, count, 4, "lows") || !has(highs, count, 4, "highs")) return false;
    const uint32_t *low = lows->buf, *high = highs->buf;
    for (size_t i = 0; i < count; i++)
        if (low[i] >= high[i] || high[i] > plane->events) {
            PyErr_SetString(PyExc_ValueError, "highs: not behind the lows, or beyond the last position");
            return false;
        }
    return true;
}
