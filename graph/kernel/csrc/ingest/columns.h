/* Convert record bytes to columns: one pass counts, one fills arrays of that size.
 *
 * A record is 16 bytes, ticks and a word (kind, slots, flags, site), followed by `slots` slots of 16 bytes: text
 * length, flags, channel and key, then the text. Invariant: if an extent ends inside a record, that record is always
 * omitted. */
#ifndef CLEW_COLUMNS_H
#define CLEW_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t ticks, word;
} Unit;

typedef struct {
    size_t records, extensions, text;
} Sizes;

typedef struct {
    uint64_t *ticks;
    uint8_t *kind;
    uint32_t *site;
    int32_t *ext;
    uint64_t *key;
    uint32_t *channel;
    uint16_t *flags;
    int64_t *text_start; /* one past the extensions; its first entry is the caller's */
    uint8_t *texts;
} Columns;

Sizes columns_measure(const Unit *units, size_t count);

/* Fills `to` from row and extension 0 on; its extensions are numbered from `base`. */
void columns_fill(const Unit *units, const Sizes *sizes, const Columns *to, int32_t base);

#endif
