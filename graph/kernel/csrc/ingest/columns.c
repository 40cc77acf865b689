#include "columns.h"

#include <string.h>

static inline size_t slots_of(const Unit *unit) { return (unit->word >> 8) & 0xFF; }

static inline size_t text_of(const Unit *unit) {
    size_t length = unit[1].ticks & 0xFFFF, most = (slots_of(unit) - 1) * sizeof(Unit);
    return length < most ? length : most;
}

Sizes columns_measure(const Unit *units, size_t count) {
    Sizes sizes = {0, 0, 0};
    for (size_t at = 0; at < count;) {
        size_t slots = slots_of(units + at);
        if (slots) {
            if (at + slots >= count) break;
            sizes.extensions++;
            sizes.text += text_of(units + at);
        }
        sizes.records++;
        at += 1 + slots;
    }
    return sizes;
}

void columns_fill(const Unit *units, const Sizes *sizes, const Columns *to, int32_t base) {
    size_t at = 0, ext = 0, text = 0;
    for (size_t row = 0; row < sizes->records; row++) {
        const Unit *unit = units + at;
        size_t slots = slots_of(unit);
        to->ticks[row] = unit->ticks;
        to->kind[row] = (uint8_t)unit->word;
        to->site[row] = (uint32_t)(unit->word >> 32);
        to->ext[row] = -1;
        if (slots) {
            uint64_t head = unit[1].ticks;
            size_t length = text_of(unit);
            to->ext[row] = base + (int32_t)ext;
            to->key[ext] = unit[1].word;
            to->channel[ext] = (uint32_t)(head >> 32);
            to->flags[ext] = (uint16_t)(head >> 16);
            memcpy(to->texts + text, unit + 2, length);
            text += length;
            to->text_start[ext + 1] = to->text_start[0] + (int64_t)text;
            ext++;
        }
        at += 1 + slots;
    }
}
