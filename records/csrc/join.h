/* Streams put together again; nothing is read or stored outside its buffers, whatever they hold. */

#ifndef CLEW_JOIN_H
#define CLEW_JOIN_H

#include "rice.h"
#include "step_classes.h"

enum { WITH_CLASSES = 2 }; /* the version of frames that have steps in classes */

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

static bool times_of(Work *work, const Stream *streams, Py_ssize_t count, Py_ssize_t words, uint64_t unit, uint64_t first,
                     int version) {
    Stream rests = streams[RESTS];
    if (rests.length && rests.length != count) return refuse("another number of times");
    if (version == WITH_CLASSES ? !steps_of_classes(work, streams[STEPS], streams[TAILS], count, words)
                                : !rice_decode(work, streams[STEPS], count, words))
        return false;
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
static PyObject *join_from(Work *work, const Stream *streams, int version) {
    if (streams[NUMBERS].length != COUNTS_SIZE) return refuse("streams are missing"), NULL;
    const uint8_t *numbers = streams[NUMBERS].at;
    Py_ssize_t count = load(numbers, 2), words = load(numbers + 2, 2), extended = load(numbers + 4, 2);
    Py_ssize_t heads = load(numbers + 6, 2), more = load(numbers + 8, 2);
    uint64_t unit = load(numbers + 10, 2), first = load(numbers + 12, 8);
    if (count + extended + more > UNITS || words > UNITS || heads > UNITS) return refuse("more than a chunk"), NULL;
    if (!from_places(streams[WHICH_WORD], count, words, work->which) || !from_planes64(streams[WORDS], words, 8, work->table) ||
        !join_keys(work, streams, extended) || !times_of(work, streams, count, words, unit, first, version) ||
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

static PyObject *join(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    if (given != 2) return PyErr_Format(PyExc_TypeError, "join(streams, version)");
    int version = (int)PyLong_AsLong(arguments[1]);
    if (version == -1 && PyErr_Occurred()) return NULL;
    PyObject *sequence = PySequence_Fast(arguments[0], "streams are a sequence"), *joined = NULL;
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
    joined = join_from(&shared, streams, version);
done:
    Py_DECREF(sequence);
    return joined;
}

#endif
