#include "join.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rice.h"
#include "scratch.h"
#include "trace_format.h"

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
    Stream rests = streams[STREAM_RESTS];
    if (rests.length && rests.length != count) return refuse("another number of times");
    if (!rice_decode(work, streams[STREAM_STEPS], count, words)) return false;
    uint64_t units = 0;
    for (Py_ssize_t number = 0; number < count; number++) {
        units += work->steps[number];
        work->times[number] = first + units * unit + (rests.length ? rests.at[number] : 0);
    }
    return true;
}

static bool join_keys(Work *work, const Stream *streams, Py_ssize_t extended) {
    Stream codes = streams[STREAM_CODES], families = streams[STREAM_FAMILIES];
    if (codes.length != extended) return refuse("another number of keys");
    Py_ssize_t kinds[256] = {0};
    for (Py_ssize_t at = 0; at < extended; at++) kinds[codes.at[at]]++;
    uint64_t *backs = work->values, *lows = work->steps, *differences = work->times;
    if (!from_planes64(streams[STREAM_FAR], kinds[FAR], 2, backs) ||
        !from_planes64(streams[STREAM_NEAR], kinds[NEAR], 3, lows) ||
        !from_planes64(streams[STREAM_COUNTED], kinds[COUNTED], 2, differences) ||
        !from_planes64(streams[STREAM_NEW], kinds[NEW], 8, work->news))
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
            work->latest[news] = work->news[news] * INVERSE;
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
    if (streams[STREAM_NUMBERS].length != COUNTS_SIZE) return refuse("streams are missing"), NULL;
    const uint8_t *numbers = streams[STREAM_NUMBERS].at;
    Py_ssize_t count = load(numbers, 2), words = load(numbers + 2, 2), extended = load(numbers + 4, 2);
    Py_ssize_t heads = load(numbers + 6, 2), more = load(numbers + 8, 2);
    uint64_t unit = load(numbers + 10, 2), first = load(numbers + 12, 8);
    if (count + extended + more > UNITS || words > UNITS || heads > UNITS) return refuse("more than a chunk"), NULL;
    if (!from_places(streams[STREAM_WHICH_WORD], count, words, work->which) ||
        !from_planes64(streams[STREAM_WORDS], words, 8, work->table) || !join_keys(work, streams, extended) ||
        !times_of(work, streams, count, words, unit, first) ||
        !from_places(streams[STREAM_WHICH_HEAD], extended, heads, work->which_head) ||
        !from_planes64(streams[STREAM_HEADS], heads, 8, work->head_table))
        return NULL;
    if (streams[STREAM_TEXTS].length != more * RECORD_SIZE) return refuse("another number of slots"), NULL;
    PyObject *joined = PyBytes_FromStringAndSize(NULL, (count + extended + more) * RECORD_SIZE);
    if (!joined) return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AS_STRING(joined);
    const uint8_t *texts = streams[STREAM_TEXTS].at, *end = texts + more * RECORD_SIZE;
    Py_ssize_t given = 0;
    for (Py_ssize_t number = 0; number < count; number++, to += RECORD_SIZE) {
        uint64_t word = work->table[work->which[number]];
        store(to, work->times[number], 8);
        store(to + 8, word, 8);
        Py_ssize_t slots = word >> 8 & 0xFF;
        if (!slots) continue;
        if (given < extended) {
            to += RECORD_SIZE;
            store(to, work->head_table[work->which_head[given]], 8);
            store(to + 8, work->keys[given++], 8);
        }
        Py_ssize_t length = (slots - 1) * RECORD_SIZE;
        if (length > end - texts) length = end - texts;
        memcpy(to + RECORD_SIZE, texts, length);
        texts += length;
        to += length;
    }
    /* Damaged counts may leave slots without a record. */
    if (_PyBytes_Resize(&joined, to - (uint8_t *)PyBytes_AS_STRING(joined)) < 0) return NULL;
    return joined;
}

PyObject *join(PyObject *module, PyObject *argument) {
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
