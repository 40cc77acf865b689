#include "tiles.h"

enum { MOST_COLOURS = 0x7FFE, CELL_ASLEEP = 0x8000 };

/* 1 + the colour's number; the last one is shared by all that come too late. */
static uint16_t cell_of(Painter *to, uint32_t key) {
    uint32_t site = key & ~ASLEEP;
    if (!to->colour[site]) {
        if (to->palette.count < MOST_COLOURS) Numbers_push(&to->palette, site);
        to->colour[site] = (uint16_t)to->palette.count;
    }
    return (uint16_t)(to->colour[site] | (key & ASLEEP ? CELL_ASLEEP : 0));
}

static void cell_end(Painter *to) {
    if (!to->mix.touched.count) return;
    int64_t sum;
    uint32_t key = mix_take(&to->mix, &sum);
    double cover = (double)sum / (double)((int64_t)1 << to->shift) * 255.0;
    to->cells[to->at] = cell_of(to, key);
    to->covers[to->at] = cover >= 255.0 ? 255 : cover < 1.0 ? 1 : (uint8_t)cover;
}

static inline void cell_add(Painter *to, int64_t bucket, uint32_t key, int64_t ns) {
    if (bucket != to->at) {
        cell_end(to);
        to->at = bucket;
    }
    if (ns > 0) mix_add(&to->mix, key, ns);
}

static void paint_bar(Painter *to, uint32_t row, Bar bar) {
    int64_t stop = to->from + (to->buckets << to->shift), width = (int64_t)1 << to->shift;
    int64_t begin = bar.begin > to->from ? bar.begin : to->from, end = bar.end < stop ? bar.end : stop;
    if (bar.end - bar.begin >= to->least) NamedBars_push(&to->named, (NamedBar){bar.begin, bar.end, row, cell_of(to, bar.key)});
    double filled = to->exact ? 1.0 : (double)bar.what / 4294967295.0;
    int64_t first = (begin - to->from) >> to->shift, last = (end - 1 - to->from) >> to->shift;
    for (int64_t bucket = first; bucket <= last; bucket++) {
        int64_t left = to->from + (bucket << to->shift), right = left + width;
        int64_t ns = (right < end ? right : end) - (left > begin ? left : begin);
        if (!to->exact) {
            ns = (int64_t)((double)ns * filled);
            if (!ns && bar.what) ns = 1;
        }
        cell_add(to, bucket, bar.key, ns);
    }
}

void paint_row(Painter *to, uint32_t row, int64_t low, int64_t high) {
    int64_t stop = to->from + (to->buckets << to->shift), end = high;
    while (low < high) { /* the first that ends after the tile begins */
        int64_t middle = low + (high - low) / 2;
        if (to->bars[middle].end <= to->from) low = middle + 1;
        else high = middle;
    }
    to->at = 0;
    for (; low < end && to->bars[low].begin < stop; low++) {
        Bar bar = to->bars[low];
        if (!bar_fits(&bar, to->sites)) {
            to->bad = true;
            return;
        }
        if (bar.end > bar.begin) paint_bar(to, row, bar);
        if (to->mix.touched.failed || to->palette.failed || to->named.failed) return;
    }
    cell_end(to);
}
