/* Takes a chunk's data apart into streams of like bytes, and puts it together again: the twin of records/codec.py. And finds the
   end of its records, as records/extents.py does.

   Invariants: the same streams as the Python twin gives, byte for byte; whatever is to be joined, nothing is read or stored
   outside its buffers, and what `split` never gave raises ValueError or gives some data. Numbers are little-endian whatever the
   machine. The layout of streams is drawn in docs/trace-format.md; the names here are those of the Python twin. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    RECORD = 16,
    MAX_CHUNK = 1 << 17,
    UNITS = MAX_CHUNK / RECORD,
    ONE_BYTE = 192,
    LEAST_BITS = 8,
    CUT = 256,
    FAR = 252,
    NEAR = 253,
    COUNTED = 254,
    NEW = 255,
    MAX_FAMILIES = 256,
    NEAR_BITS = 24,
    COUNTED_BITS = 16,
    COUNTS_SIZE = 28,
    SLOTS = 2 * UNITS,
};
enum { NUMBERS, WORDS, WHICH_WORD, STEPS, TAILS, RESTS, HEADS, WHICH_HEAD, CODES, FARS, FAMILIES, NEARS, COUNTEDS, NEWS, TEXTS, STREAMS };

static const uint64_t STRIDE = 0x9E3779B97F4A7C15u;
static uint64_t inverse; /* STRIDE * inverse == 1 */

/* What one call needs. There is one, under the interpreter's lock: from the first store to the last load, nothing is allocated
   that the garbage collector looks after, so that no other Python code runs in between. Fresh pages cost more than packing. */
typedef struct {
    uint64_t times[UNITS + 1], words[UNITS + 1], steps[UNITS + 1], table[UNITS + 1], values[UNITS + 1];
    uint64_t heads[UNITS + 1], keys[UNITS + 1], head_table[UNITS + 1], news[UNITS + 1], latest[UNITS + 1];
    uint16_t which[UNITS + 1], which_head[UNITS + 1], order[UNITS + 1], back[UNITS + 1], counted[UNITS + 1];
    uint32_t near[UNITS + 1], starts[UNITS + 2], texts[UNITS + 1];
    uint8_t codes[UNITS + 1], families[UNITS + 1], symbols[UNITS + 1], rests[UNITS + 1], bits[UNITS + 1];
    uint8_t tails[8 * (UNITS + 1)];
    uint16_t slots[SLOTS], family_slots[SLOTS], count_slots[SLOTS]; /* of hash tables: 1 + a number, 0 for none */
    uint64_t family_names[MAX_FAMILIES], count_names[MAX_FAMILIES];
    uint16_t seen[UNITS + 1]; /* the last extension with the same key as this first one */
} Work;
static Work shared;

static inline uint64_t load(const uint8_t *from, int size) {
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (size == 8) {
        uint64_t value;
        memcpy(&value, from, 8);
        return value;
    }
#endif
    uint64_t value = 0;
    for (int place = 0; place < size; place++) value |= (uint64_t)from[place] << 8 * place;
    return value;
}

static inline void store(uint8_t *to, uint64_t value, int size) {
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (size == 8) {
        memcpy(to, &value, 8);
        return;
    }
#endif
    for (int place = 0; place < size; place++) to[place] = (uint8_t)(value >> 8 * place);
}

static inline int bit_length(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

static inline uint32_t hash(uint64_t value, uint32_t mask) {
    return (uint32_t)((value ^ value >> 29) * 0xBF58476D1CE4E5B9u >> 40) & mask;
}

/* Slots of a hash table for so many values: a power of two, at least twice as many. */
static uint32_t mask_for(Py_ssize_t count) {
    uint32_t size = 64;
    while (size < 2 * (uint32_t)count) size *= 2;
    return size - 1;
}

/* The place of a value's slot: an empty one if names[] has none such. */
static inline uint32_t find(const uint16_t *slots, uint32_t mask, const uint64_t *names, uint64_t value) {
    uint32_t at = hash(value, mask);
    while (slots[at] && names[slots[at] - 1] != value) at = (at + 1) & mask;
    return at;
}

/* --- split ------------------------------------------------------------------------------------------------------------- */

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
        uint32_t small = unit < 256 ? (uint32_t)unit : 0;
        int place = part; /* sorted, the greatest first */
        for (; place > 0 && found[place - 1] < small; place--) found[place] = found[place - 1];
        found[place] = small;
    }
    for (int part = 0; part < 8 && found[part] > 1; part++) {
        if (part && found[part] == found[part - 1]) continue;
        Py_ssize_t multiples = 0;
        for (Py_ssize_t at = 0; at < count; at++) {
            uint64_t difference = times[at + 1] - times[at];
            multiples += !(difference >> 32 ? difference % found[part] : (uint32_t)difference % found[part]);
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
            units = since >> 32 ? since / unit : (uint32_t)since / unit;
            any |= work->rests[number] = (uint8_t)(since - units * unit);
        }
        work->steps[number] = units - before;
        before = units;
    }
    *rests = any != 0;
    return unit;
}

/* Where every word's records begin when they are sorted by it, and their order. */
static void sort(Work *work, Py_ssize_t count, Py_ssize_t words) {
    memset(work->starts, 0, (words + 1) * sizeof *work->starts);
    for (Py_ssize_t number = 0; number < count; number++) work->starts[work->which[number] + 1]++;
    for (Py_ssize_t word = 0; word < words; word++) work->starts[word + 1] += work->starts[word];
    for (Py_ssize_t number = 0; number < count; number++) work->order[work->starts[work->which[number]]++] = (uint16_t)number;
    /* Now each start is the next one's. */
    memmove(work->starts + 1, work->starts, words * sizeof *work->starts);
    work->starts[0] = 0;
}

/* Gives the length of the tails. */
static Py_ssize_t classes(Work *work, Py_ssize_t count) {
    Py_ssize_t large = 0, length = 0;
    for (Py_ssize_t number = 0; number < count; number++) {
        uint64_t step = work->steps[work->order[number]];
        if (step < ONE_BYTE) {
            work->symbols[number] = (uint8_t)step;
            continue;
        }
        int bits = bit_length(step);
        work->symbols[number] = (uint8_t)(ONE_BYTE + bits - LEAST_BITS);
        work->bits[large] = (uint8_t)bits;
        work->values[large++] = step ^ (uint64_t)1 << (bits - 1);
    }
    for (int place = 0; place < 8 && large; place++)
        for (Py_ssize_t number = 0; number < large; number++)
            if (work->bits[number] - 1 > 8 * place) work->tails[length++] = (uint8_t)(work->values[number] >> 8 * place);
    return length;
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
        uint64_t counter = key * inverse;
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

#define PLANES(name, type)                                                                          \
    static PyObject *name(const type *values, Py_ssize_t count, int size) {                         \
        PyObject *planes = PyBytes_FromStringAndSize(NULL, count * size);                           \
        if (!planes) return NULL;                                                                   \
        uint8_t *to = (uint8_t *)PyBytes_AS_STRING(planes);                                         \
        for (int place = 0; place < size; place++)                                                  \
            for (Py_ssize_t at = 0; at < count; at++) *to++ = (uint8_t)(values[at] >> 8 * place);   \
        return planes;                                                                              \
    }
PLANES(planes64, uint64_t)
PLANES(planes32, uint32_t)
PLANES(planes16, uint16_t)

static PyObject *bytes_of(const uint8_t *data, Py_ssize_t length) {
    return PyBytes_FromStringAndSize((const char *)data, length);
}

static bool add_cuts(const Work *work, Py_ssize_t words, PyObject *cuts) {
    uint32_t before = 0;
    for (Py_ssize_t word = 0; word < words; word++) {
        uint32_t at = work->starts[word], size = work->starts[word + 1] - at;
        if (at <= before || (size < CUT && at - before < CUT)) continue;
        PyObject *cut = PyLong_FromUnsignedLong(at);
        bool added = cut && PyList_Append(cuts, cut) == 0;
        Py_XDECREF(cut);
        if (!added) return false;
        before = at;
    }
    return true;
}

/* Both lists are empty; false with an exception set. */
static bool split_into(Work *work, const uint8_t *data, Py_ssize_t length, PyObject *streams, PyObject *cuts) {
    while (length && !data[length - 1]) length--;
    Py_ssize_t units = (length + RECORD - 1) / RECORD, count = 0, extended = 0, more = 0;
    for (Py_ssize_t at = 0; at < units; at++) {
        const uint8_t *from = data + at * RECORD;
        uint8_t last[RECORD] = {0};
        if ((at + 1) * RECORD > length) {
            memcpy(last, from, length - at * RECORD);
            from = last;
        }
        work->times[count] = load(from, 8);
        uint64_t word = work->words[count++] = load(from + 8, 8);
        for (int slots = word >> 8 & 0xFF, slot = 0; slot < slots && at + 1 < units; slot++) {
            at++;
            from = data + at * RECORD;
            if (slot) {
                work->texts[more++] = (uint32_t)at;
                continue;
            }
            uint8_t first[RECORD] = {0};
            Py_ssize_t rest = length - at * RECORD;
            memcpy(first, from, rest < RECORD ? rest : RECORD);
            work->heads[extended] = load(first, 8);
            work->keys[extended++] = load(first + 8, 8);
        }
    }
    bool rests;
    Py_ssize_t words = numbered(work, work->words, count, work->table, work->which);
    Py_ssize_t heads = numbered(work, work->heads, extended, work->head_table, work->which_head);
    uint32_t unit = steps_of(work, count, &rests);
    sort(work, count, words);
    Py_ssize_t tails = classes(work, count);
    KeyCounts keys = split_keys(work, extended);
    uint64_t last = count ? work->times[count - 1] : 0;
    if (count > 1 && work->times[count - 2] > last) last = work->times[count - 2];
    uint8_t numbers[COUNTS_SIZE];
    const uint16_t counts[6] = {(uint16_t)count, (uint16_t)words, (uint16_t)extended, (uint16_t)heads, (uint16_t)more, (uint16_t)unit};
    for (int at = 0; at < 6; at++) store(numbers + 2 * at, counts[at], 2);
    store(numbers + 12, count ? work->times[0] : 0, 8);
    store(numbers + 20, last, 8);

    PyObject *texts = PyBytes_FromStringAndSize(NULL, more * RECORD);
    if (texts) {
        uint8_t *to = (uint8_t *)PyBytes_AS_STRING(texts);
        for (Py_ssize_t number = 0; number < more; number++, to += RECORD) {
            Py_ssize_t start = (Py_ssize_t)work->texts[number] * RECORD, rest = length - start;
            memset(to, 0, RECORD);
            memcpy(to, data + start, rest < RECORD ? rest : RECORD);
        }
    }
    PyObject *parts[STREAMS] = {
        [NUMBERS] = bytes_of(numbers, COUNTS_SIZE),
        [WORDS] = planes64(work->table, words, 8),
        [WHICH_WORD] = planes16(work->which, count, words <= 256 ? 1 : 2),
        [STEPS] = bytes_of(work->symbols, count),
        [TAILS] = bytes_of(work->tails, tails),
        [RESTS] = bytes_of(work->rests, rests ? count : 0),
        [HEADS] = planes64(work->head_table, heads, 8),
        [WHICH_HEAD] = planes16(work->which_head, extended, heads <= 256 ? 1 : 2),
        [CODES] = bytes_of(work->codes, extended),
        [FARS] = planes16(work->back, keys.far, 2),
        [FAMILIES] = bytes_of(work->families, keys.families),
        [NEARS] = planes32(work->near, keys.near, 3),
        [COUNTEDS] = planes16(work->counted, keys.counted, 2),
        [NEWS] = planes64(work->news, keys.new, 8),
        [TEXTS] = texts,
    };
    bool whole = true;
    for (int at = 0; at < STREAMS; at++) {
        whole &= parts[at] != NULL;
        PyList_SET_ITEM(streams, at, parts[at]); /* owned by the list from here on */
    }
    return whole && add_cuts(work, words, cuts);
}

static PyObject *split(PyObject *module, PyObject *argument) {
    Py_buffer data;
    if (PyObject_GetBuffer(argument, &data, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *found = NULL, *streams = PyList_New(STREAMS), *cuts = PyList_New(0);
    if (data.len > MAX_CHUNK)
        PyErr_SetString(PyExc_ValueError, "more than a chunk");
    else if (streams && cuts && split_into(&shared, data.buf, data.len, streams, cuts))
        found = PyTuple_Pack(2, streams, cuts);
    Py_XDECREF(streams);
    Py_XDECREF(cuts);
    PyBuffer_Release(&data);
    return found;
}

/* --- join -------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const uint8_t *at;
    Py_ssize_t length;
} Stream;

static bool refuse(const char *why) {
    PyErr_SetString(PyExc_ValueError, why);
    return false;
}

/* A plane's values; false when there are not as many. */
static bool from_planes64(Stream stream, Py_ssize_t count, int size, uint64_t *values) {
    if (stream.length != count * size) return refuse("a stream of another length");
    for (Py_ssize_t at = 0; at < count; at++) {
        values[at] = 0;
        for (int place = 0; place < size; place++) values[at] |= (uint64_t)stream.at[place * count + at] << 8 * place;
    }
    return true;
}

static bool from_places(Stream stream, Py_ssize_t count, Py_ssize_t different, uint16_t *which) {
    int size = different <= 256 ? 1 : 2;
    if (stream.length != count * size) return refuse("a stream of another length");
    for (Py_ssize_t at = 0; at < count; at++) {
        which[at] = (uint16_t)(stream.at[at] | (size > 1 ? stream.at[count + at] << 8 : 0));
        if (which[at] >= different) return refuse("a word that is not there");
    }
    return true;
}

static bool times_of(Work *work, const Stream *streams, Py_ssize_t count, Py_ssize_t words, uint64_t unit, uint64_t first) {
    Stream symbols = streams[STEPS], tails = streams[TAILS], rests = streams[RESTS];
    if (symbols.length != count || (rests.length && rests.length != count)) return refuse("another number of times");
    Py_ssize_t large = 0;
    for (Py_ssize_t number = 0; number < count; number++) {
        int bits = symbols.at[number] + LEAST_BITS - ONE_BYTE;
        if (symbols.at[number] < ONE_BYTE) continue;
        if (bits > 64) return refuse("a step of more than 64 bits");
        work->bits[large] = (uint8_t)bits;
        work->values[large++] = (uint64_t)1 << (bits - 1);
    }
    Py_ssize_t at = 0;
    for (int place = 0; place < 8 && large; place++) {
        for (Py_ssize_t number = 0; number < large; number++) {
            if (work->bits[number] - 1 <= 8 * place) continue;
            if (at == tails.length) return refuse("another number of large steps");
            work->values[number] |= (uint64_t)tails.at[at++] << 8 * place;
        }
    }
    if (at != tails.length) return refuse("another number of large steps");
    sort(work, count, words);
    large = 0;
    for (Py_ssize_t number = 0; number < count; number++)
        work->steps[work->order[number]] = symbols.at[number] < ONE_BYTE ? symbols.at[number] : work->values[large++];
    uint64_t units = 0;
    for (Py_ssize_t number = 0; number < count; number++) {
        units += work->steps[number];
        work->times[number] = first + units * unit + (rests.length ? rests.at[number] : 0);
    }
    return true;
}

static bool join_keys(Work *work, const Stream *streams, Py_ssize_t extended) {
    Stream codes = streams[CODES], families = streams[FAMILIES];
    if (codes.length != extended) return refuse("another number of keys");
    Py_ssize_t kinds[256] = {0};
    for (Py_ssize_t at = 0; at < extended; at++) kinds[codes.at[at]]++;
    uint64_t *backs = work->values, *lows = work->steps, *differences = work->times;
    if (!from_planes64(streams[FARS], kinds[FAR], 2, backs) || !from_planes64(streams[NEARS], kinds[NEAR], 3, lows) ||
        !from_planes64(streams[COUNTEDS], kinds[COUNTED], 2, differences) ||
        !from_planes64(streams[NEWS], kinds[NEW], 8, work->news))
        return false;
    if (families.length != kinds[NEAR] + kinds[COUNTED]) return refuse("another number of families");
    const uint64_t low = ((uint64_t)1 << NEAR_BITS) - 1, little = ((uint64_t)1 << COUNTED_BITS) - 1;
    const uint8_t *family = families.at;
    Py_ssize_t news = 0;
    for (Py_ssize_t number = 0; number < extended; number++) {
        uint8_t code = codes.at[number];
        if (code <= FAR) {
            Py_ssize_t back = code == FAR ? (Py_ssize_t)*backs++ : code + 1;
            if (back <= 0 || back > number) return refuse("a key from before the chunk");
            work->keys[number] = work->keys[number - back];
        } else if (code == NEW) {
            work->keys[number] = work->news[news];
            work->latest[news] = work->news[news] * inverse;
            news++;
        } else {
            Py_ssize_t place = *family++;
            if (place >= news) return refuse("a key of no family");
            if (code == NEAR) {
                work->keys[number] = (work->news[place] & ~low) | *lows++;
            } else {
                uint64_t *latest = &work->latest[place];
                *latest = (*latest & ~little) | ((*latest + *differences++) & little);
                work->keys[number] = *latest * STRIDE;
            }
        }
    }
    return true;
}

/* The joined data, or NULL. Keys use the room of times, so they come first. */
static PyObject *join_from(Work *work, const Stream *streams) {
    if (streams[NUMBERS].length != COUNTS_SIZE) return refuse("streams are missing"), NULL;
    const uint8_t *numbers = streams[NUMBERS].at;
    Py_ssize_t count = load(numbers, 2), words = load(numbers + 2, 2), extended = load(numbers + 4, 2);
    Py_ssize_t heads = load(numbers + 6, 2), more = load(numbers + 8, 2);
    uint64_t unit = load(numbers + 10, 2), first = load(numbers + 12, 8);
    if (count + extended + more > UNITS || words > UNITS || heads > UNITS) return refuse("more than a chunk"), NULL;
    if (!from_places(streams[WHICH_WORD], count, words, work->which) || !from_planes64(streams[WORDS], words, 8, work->table) ||
        !join_keys(work, streams, extended) || !times_of(work, streams, count, words, unit, first) ||
        !from_places(streams[WHICH_HEAD], extended, heads, work->which_head) ||
        !from_planes64(streams[HEADS], heads, 8, work->head_table))
        return NULL;
    if (streams[TEXTS].length != more * RECORD) return refuse("another number of slots"), NULL;
    PyObject *joined = PyBytes_FromStringAndSize(NULL, (count + extended + more) * RECORD);
    if (!joined) return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AS_STRING(joined);
    const uint8_t *texts = streams[TEXTS].at, *end = texts + more * RECORD;
    Py_ssize_t given = 0;
    for (Py_ssize_t number = 0; number < count; number++, to += RECORD) {
        uint64_t word = work->table[work->which[number]];
        store(to, work->times[number], 8);
        store(to + 8, word, 8);
        Py_ssize_t slots = word >> 8 & 0xFF;
        if (!slots) continue;
        if (given < extended) {
            to += RECORD;
            store(to, work->head_table[work->which_head[given]], 8);
            store(to + 8, work->keys[given++], 8);
        }
        Py_ssize_t length = (slots - 1) * RECORD;
        if (length > end - texts) length = end - texts;
        memcpy(to + RECORD, texts, length);
        texts += length;
        to += length;
    }
    /* Damaged counts may leave slots without a record. */
    if (_PyBytes_Resize(&joined, to - (uint8_t *)PyBytes_AS_STRING(joined)) < 0) return NULL;
    return joined;
}

static PyObject *join(PyObject *module, PyObject *argument) {
    PyObject *sequence = PySequence_Fast(argument, "streams are a sequence"), *joined = NULL;
    if (!sequence) return NULL;
    Stream streams[STREAMS];
    if (PySequence_Fast_GET_SIZE(sequence) != STREAMS) {
        refuse("streams are missing");
        goto done;
    }
    for (int at = 0; at < STREAMS; at++) {
        PyObject *stream = PySequence_Fast_GET_ITEM(sequence, at); /* borrowed from the sequence, which lives to the end */
        if (!PyBytes_Check(stream)) {
            PyErr_SetString(PyExc_TypeError, "streams are bytes");
            goto done;
        }
        streams[at] = (Stream){(const uint8_t *)PyBytes_AS_STRING(stream), PyBytes_GET_SIZE(stream)};
    }
    joined = join_from(&shared, streams);
done:
    Py_DECREF(sequence);
    return joined;
}

/* --- reading ----------------------------------------------------------------------------------------------------------- */

/* The twin of `find_end` in records/extents.py. */
static PyObject *find_end(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_buffer data, kinds;
    if (given != 2) return PyErr_Format(PyExc_TypeError, "find_end(data, kinds)");
    if (PyObject_GetBuffer(arguments[0], &data, PyBUF_SIMPLE) < 0) return NULL;
    if (PyObject_GetBuffer(arguments[1], &kinds, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&data);
        return NULL;
    }
    bool known[256] = {false};
    for (Py_ssize_t at = 0; at < kinds.len; at++) known[((const uint8_t *)kinds.buf)[at]] = true;
    const uint8_t *bytes = data.buf;
    Py_ssize_t units = data.len / RECORD, at = 0;
    char wrong[64] = "";
    while (at < units) {
        const uint8_t *record = bytes + at * RECORD;
        if (!load(record, 8)) {
            Py_ssize_t length = units * RECORD;
            while (length && !bytes[length - 1]) length--;
            /* What follows the end can only be a record that was being written. */
            if (length - at * RECORD > 256 * RECORD) strcpy(wrong, "an unfinished record in the middle");
            break;
        }
        if (!known[record[8]]) {
            snprintf(wrong, sizeof wrong, "a record of unknown kind %d", record[8]);
            break;
        }
        if (at + 1 + record[9] > units) {
            strcpy(wrong, "a record that reaches beyond its chunk");
            break;
        }
        at += 1 + record[9];
    }
    PyBuffer_Release(&kinds);
    PyBuffer_Release(&data);
    return Py_BuildValue("(ns)", at * RECORD, wrong);
}

static PyMethodDef methods[] = {
    {"find_end", (PyCFunction)(void (*)(void))find_end, METH_FASTCALL, "find_end(data, kinds): where whole records end, and why"},
    {"split", split, METH_O, "split(data): the streams of a chunk's data, and where those of steps are best cut"},
    {"join", join, METH_O, "join(streams): the data; ValueError for streams that are of none"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_codec", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__codec(void) {
    inverse = STRIDE; /* of an odd number right in its lowest 3 bits; every round doubles them */
    for (int round = 0; round < 5; round++) inverse *= 2 - STRIDE * inverse;
    return PyModule_Create(&definition);
}
