#include "split.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rice.h"
#include "scratch.h"
#include "trace_format.h"

/* The different values as they first come, and which of them each is. Gives how many. */
static Py_ssize_t numbered(Work *work, const uint64_t *values, Py_ssize_t count, uint64_t *table, uint16_t *which) {
    uint32_t mask = mask_for(count);
    memset(work->slots, 0, (mask + 1) * sizeof *work->slots);
    Py_ssize_t found = 0;
    for (Py_ssize_t number = 0; number < count; number++) {
        if (number > 1 && values[number] == values[number - 2]) { /* as often as not, and cheaper */
            which[number] = which[number - 2];
            continue;
        }
        uint32_t at = find(work->slots, mask, table, values[number]);
        if (!work->slots[at]) {
            table[found++] = values[number];
            work->slots[at] = (uint16_t)found;
        }
        which[number] = work->slots[at] - 1;
    }
    return found;
}

static uint64_t common(uint64_t one, uint64_t other) {
    while (other) {
        uint64_t rest = one % other;
        one = other;
        other = rest;
    }
    return one;
}

static uint64_t divided(uint64_t number, uint32_t unit) { return number >> 32 ? number / unit : (uint32_t)number / unit; }

/* The clock's unit. */
static uint32_t unit_of(const uint64_t *times, Py_ssize_t records) {
    Py_ssize_t count = records - 1;
    uint32_t found[8];
    for (int part = 0; part < 8; part++) {
        Py_ssize_t start = part * count / 8;
        uint64_t unit = 0;
        for (Py_ssize_t at = start; at < start + 4 && at < count; at++) {
            uint64_t difference = times[at + 1] - times[at];
            if (difference < (uint64_t)1 << 32) unit = common(unit, difference);
        }
        uint32_t small = unit <= MOST_UNIT ? (uint32_t)unit : 0;
        int place = part; /* sorted, the greatest first */
        for (; place > 0 && found[place - 1] < small; place--) found[place] = found[place - 1];
        found[place] = small;
    }
    for (int part = 0; part < 8 && found[part] > 1; part++) {
        if (part && found[part] == found[part - 1]) continue;
        Py_ssize_t multiples = 0;
        for (Py_ssize_t at = 0; at < count; at++) {
            uint64_t difference = times[at + 1] - times[at];
            multiples += difference == divided(difference, found[part]) * found[part];
        }
        if (multiples * 8 >= count * 7) return found[part];
    }
    return 1;
}

/* Fills in steps and rests; gives the unit. */
static uint32_t steps_of(Work *work, Py_ssize_t count, bool *rests) {
    const uint64_t *times = work->times;
    *rests = false;
    if (!count) return 1;
    uint32_t unit = unit_of(times, count);
    uint64_t before = 0;
    uint8_t any = 0;
    for (Py_ssize_t number = 0; number < count; number++) {
        uint64_t since = times[number] - times[0], units = since;
        if (unit > 1) {
            units = divided(since, unit);
            any |= work->rests[number] = (uint8_t)(since - units * unit);
        }
        work->steps[number] = units - before;
        before = units;
    }
    *rests = any != 0;
    return unit;
}

typedef struct {
    Py_ssize_t far, near, counted, new, families;
} KeyCounts;

static KeyCounts split_keys(Work *work, Py_ssize_t count) {
    KeyCounts found = {0};
    Py_ssize_t different = 0;
    uint32_t mask = mask_for(count), family_mask = 2 * MAX_FAMILIES - 1;
    memset(work->slots, 0, (mask + 1) * sizeof *work->slots);
    memset(work->family_slots, 0, (family_mask + 1) * sizeof *work->family_slots);
    memset(work->count_slots, 0, (family_mask + 1) * sizeof *work->count_slots);
    uint64_t *names = work->values; /* the different keys */
    for (Py_ssize_t number = 0; number < count; number++) {
        uint64_t key = work->keys[number];
        uint32_t at = find(work->slots, mask, names, key);
        if (work->slots[at]) {
            uint16_t *seen = &work->seen[work->slots[at] - 1];
            uint16_t back = (uint16_t)(number - *seen);
            *seen = (uint16_t)number;
            if (back <= FAR) {
                work->codes[number] = (uint8_t)(back - 1);
            } else {
                work->codes[number] = FAR;
                work->back[found.far++] = back;
            }
            continue;
        }
        names[different] = key;
        work->seen[different] = (uint16_t)number;
        work->slots[at] = (uint16_t)++different;
        uint32_t family = find(work->family_slots, family_mask, work->family_names, key >> NEAR_BITS);
        if (work->family_slots[family]) {
            work->codes[number] = NEAR;
            work->families[found.families++] = (uint8_t)(work->family_slots[family] - 1);
            work->near[found.near++] = (uint32_t)(key & (((uint64_t)1 << NEAR_BITS) - 1));
            continue;
        }
        uint64_t counter = key * INVERSE;
        uint32_t place = find(work->count_slots, family_mask, work->count_names, counter >> COUNTED_BITS);
        if (work->count_slots[place]) {
            int latest = work->count_slots[place] - 1;
            work->codes[number] = COUNTED;
            work->families[found.families++] = (uint8_t)latest;
            work->counted[found.counted++] = (uint16_t)(counter - work->latest[latest]);
            work->latest[latest] = counter;
            continue;
        }
        work->codes[number] = NEW;
        if (found.new < MAX_FAMILIES) {
            work->family_names[found.new] = key >> NEAR_BITS;
            work->count_names[found.new] = counter >> COUNTED_BITS;
            work->latest[found.new] = counter;
            work->family_slots[family] = work->count_slots[place] = (uint16_t)(found.new + 1);
        }
        work->news[found.new++] = key;
    }
    return found;
}

#define PLANES(name, type)                                                                        \
    static PyObject *name(const type *values, Py_ssize_t count, int size) {                       \
        PyObject *planes = PyBytes_FromStringAndSize(NULL, count * size);                         \
        if (!planes) return NULL;                                                                 \
        uint8_t *to = (uint8_t *)PyBytes_AS_STRING(planes);                                       \
        for (int place = 0; place < size; place++)                                                \
            for (Py_ssize_t at = 0; at < count; at++) *to++ = (uint8_t)(values[at] >> 8 * place); \
        return planes;                                                                            \
    }
PLANES(planes64, uint64_t)
PLANES(planes32, uint32_t)
PLANES(planes16, uint16_t)

static PyObject *bytes_of(const uint8_t *data, Py_ssize_t length) {
    return PyBytes_FromStringAndSize((const char *)data, length);
}

/* The list is empty; false with an exception set. */
static bool split_into(Work *work, const uint8_t *data, Py_ssize_t length, PyObject *streams) {
    while (length && !data[length - 1]) length--;
    Py_ssize_t units = (length + RECORD_SIZE - 1) / RECORD_SIZE, count = 0, extended = 0, more = 0;
    for (Py_ssize_t at = 0; at < units; at++) {
        const uint8_t *from = data + at * RECORD_SIZE;
        uint8_t last[RECORD_SIZE] = {0};
        if ((at + 1) * RECORD_SIZE > length) {
            memcpy(last, from, length - at * RECORD_SIZE);
            from = last;
        }
        work->times[count] = load(from, 8);
        uint64_t word = work->words[count++] = load(from + 8, 8);
        for (int slots = word >> 8 & 0xFF, slot = 0; slot < slots && at + 1 < units; slot++) {
            at++;
            from = data + at * RECORD_SIZE;
            if (slot) {
                work->texts[more++] = (uint32_t)at;
                continue;
            }
            uint8_t first[RECORD_SIZE] = {0};
            Py_ssize_t rest = length - at * RECORD_SIZE;
            memcpy(first, from, rest < RECORD_SIZE ? rest : RECORD_SIZE);
            work->heads[extended] = load(first, 8);
            work->keys[extended++] = load(first + 8, 8);
        }
    }
    bool rests;
    Py_ssize_t words = numbered(work, work->words, count, work->table, work->which);
    Py_ssize_t heads = numbered(work, work->heads, extended, work->head_table, work->which_head);
    uint32_t unit = steps_of(work, count, &rests);
    Py_ssize_t coded = rice_encode(work, count, words);
    KeyCounts keys = split_keys(work, extended);
    uint64_t last = count ? work->times[count - 1] : 0;
    if (count > 1 && work->times[count - 2] > last) last = work->times[count - 2];
    uint8_t numbers[COUNTS_SIZE];
    const uint16_t counts[6] = {(uint16_t)count, (uint16_t)words, (uint16_t)extended,
                                (uint16_t)heads, (uint16_t)more,  (uint16_t)unit};
    for (int at = 0; at < 6; at++) store(numbers + 2 * at, counts[at], 2);
    store(numbers + 12, count ? work->times[0] : 0, 8);
    store(numbers + 20, last, 8);

    PyObject *texts = PyBytes_FromStringAndSize(NULL, more * RECORD_SIZE);
    if (texts) {
        uint8_t *to = (uint8_t *)PyBytes_AS_STRING(texts);
        for (Py_ssize_t number = 0; number < more; number++, to += RECORD_SIZE) {
            Py_ssize_t start = (Py_ssize_t)work->texts[number] * RECORD_SIZE, rest = length - start;
            memset(to, 0, RECORD_SIZE);
            memcpy(to, data + start, rest < RECORD_SIZE ? rest : RECORD_SIZE);
        }
    }
    PyObject *parts[STREAMS] = {
        [STREAM_NUMBERS] = bytes_of(numbers, COUNTS_SIZE),
        [STREAM_WORDS] = planes64(work->table, words, 8),
        [STREAM_WHICH_WORD] = planes16(work->which, count, words <= 256 ? 1 : 2),
        [STREAM_STEPS] = bytes_of(work->coded, coded),
        [STREAM_TAILS] = bytes_of(NULL, 0),
        [STREAM_RESTS] = bytes_of(work->rests, rests ? count : 0),
        [STREAM_HEADS] = planes64(work->head_table, heads, 8),
        [STREAM_WHICH_HEAD] = planes16(work->which_head, extended, heads <= 256 ? 1 : 2),
        [STREAM_CODES] = bytes_of(work->codes, extended),
        [STREAM_FAR] = planes16(work->back, keys.far, 2),
        [STREAM_FAMILIES] = bytes_of(work->families, keys.families),
        [STREAM_NEAR] = planes32(work->near, keys.near, 3),
        [STREAM_COUNTED] = planes16(work->counted, keys.counted, 2),
        [STREAM_NEW] = planes64(work->news, keys.new, 8),
        [STREAM_TEXTS] = texts,
    };
    bool whole = true;
    for (int at = 0; at < STREAMS; at++) {
        whole &= parts[at] != NULL;
        PyList_SET_ITEM(streams, at, parts[at]); /* owned by the list from here on */
    }
    return whole;
}

PyObject *split(PyObject *module, PyObject *argument) {
    Py_buffer data;
    if (PyObject_GetBuffer(argument, &data, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *streams = PyList_New(STREAMS);
    if (data.len > MAX_CHUNK) {
        PyErr_SetString(PyExc_ValueError, "more than a chunk");
        Py_CLEAR(streams);
    } else if (streams && !split_into(&shared, data.buf, data.len, streams)) {
        Py_CLEAR(streams);
    }
    PyBuffer_Release(&data);
    return streams;
}
