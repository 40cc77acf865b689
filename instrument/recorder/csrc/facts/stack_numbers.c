#include "facts/stack_numbers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/stack.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

#define FRAMES_VISITED 32
#define MOST_PLACES 16384u
#define MOST_STACKS 16384u

/* A code object at one instruction. */
struct place {
    PyCodeObject *code; /* Owned; NULL in an empty place */
    int instruction;
    uint8_t origin, waits;
    uint32_t site;
    uint32_t size;
    char *json; /* Owned: the frame as an element of a stack */
};

struct numbered {
    uint64_t hash, epoch; /* the recording that has its frames */
    uint32_t frame[MOST_FRAMES], frames;
};

static struct place *places; /* Owned; open addressing */
static struct numbered *stacks;
static uint32_t places_used, stacks_used;

static uint8_t waits_in(PyCodeObject *code) {
    const char *file = PyUnicode_AsUTF8(code->co_filename), *name = PyUnicode_AsUTF8(code->co_qualname);
    PyErr_Clear();
    if (!file || !name) return ELSEWHERE;
    size_t length = strlen(file);
    if (length > 16 && !strcmp(name, "sleep") && !strcmp(file + length - 16, "asyncio/tasks.py")) return IN_SLEEP;
    if (length > 18 && !strncmp(name, "StreamReader.", 13) && !strcmp(file + length - 18, "asyncio/streams.py"))
        return IN_STREAM;
    return ELSEWHERE;
}

static bool allocated(void) {
    if (!places) places = calloc(2 * MOST_PLACES, sizeof *places);
    if (!stacks) stacks = calloc(2 * MOST_STACKS, sizeof *stacks);
    return places && stacks;
}

/* The index of a frame's place, or -1 if there is no room. */
static int32_t place_of(PyFrameObject *frame, PyCodeObject *code) {
    int instruction = PyFrame_GetLasti(frame);
    uint64_t hash = (((uint64_t)(uintptr_t)code >> 4) * 31 + (uint64_t)instruction) * 0x9E3779B97F4A7C15u;
    uint32_t mask = 2 * MOST_PLACES - 1, i = (uint32_t)(hash >> 32) & mask;
    for (; places[i].code; i = (i + 1) & mask)
        if (places[i].code == code && places[i].instruction == instruction) return (int32_t)i;
    if (places_used >= MOST_PLACES) return -1;
    struct place made = {.instruction = instruction, .origin = (uint8_t)code_origin(code), .waits = waits_in(code)};
    if (made.origin < CLEW) {
        char json[1200];
        made.size = (uint32_t)frame_json(frame, json, sizeof json);
        made.json = malloc(made.size + 1);
        if (!made.json) return -1;
        memcpy(made.json, json, made.size);
    }
    /* Python code has run meanwhile. */
    for (i = (uint32_t)(hash >> 32) & mask; places[i].code; i = (i + 1) & mask)
        if (places[i].code == code && places[i].instruction == instruction) {
            free(made.json);
            return (int32_t)i;
        }
    made.code = (PyCodeObject *)Py_NewRef(code);
    places[i] = made;
    places_used++;
    return (int32_t)i;
}

static uint32_t number_of(const uint32_t *frame, uint32_t frames) {
    uint64_t hash = frames;
    for (uint32_t i = 0; i < frames; i++) hash = (hash ^ frame[i]) * 0x9E3779B97F4A7C15u ^ hash >> 29;
    uint32_t mask = 2 * MOST_STACKS - 1, i = (uint32_t)(hash >> 32) & mask;
    for (; stacks[i].frames; i = (i + 1) & mask)
        if (stacks[i].hash == hash && stacks[i].frames == frames && !memcmp(stacks[i].frame, frame, frames * sizeof *frame))
            return i + 1;
    if (stacks_used >= MOST_STACKS) return 0;
    stacks_used++;
    stacks[i].hash = hash;
    stacks[i].epoch = 0;
    stacks[i].frames = frames;
    memcpy(stacks[i].frame, frame, frames * sizeof *frame);
    return i + 1;
}

/* Takes at most `most` frames of at most `visited`, and none behind the program's first line unless the stack is `whole`. */
static void capture(struct call_stack *stack, uint32_t most, uint32_t visited, bool whole) {
    *stack = (struct call_stack){.origin = CLEW};
    if (!stack_watched() || !allocated()) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    uint32_t frame_places[MOST_FRAMES], frames = 0;
    bool more = true, unplaced = false;
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef(PyEval_GetFrame());
    for (; frame && more && visited; visited--) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        int32_t at = place_of(frame, code);
        uint8_t origin = at < 0 ? (uint8_t)code_origin(code) : places[at].origin;
        if (origin < CLEW) {
            if (!frames && at >= 0) stack->innermost = places[at].waits;
            if (frames < most) {
                unplaced |= at < 0;
                frame_places[frames++] = (uint32_t)at;
            }
            if (origin < stack->origin) {
                uint32_t site = at < 0 ? 0 : places[at].site;
                if (!site) site = (uint32_t)line_site(frame, code, PyFrame_GetLineNumber(frame));
                if (at >= 0) places[at].site = site;
                stack->origin = origin;
                stack->site = site;
            }
        }
        Py_DECREF(code);
        more = origin != EVENT_LOOP && (stack->origin != PROGRAM || (whole && frames < most));
        PyFrameObject *back = more ? PyFrame_GetBack(frame) : NULL;
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    if (frames && !unplaced) stack->number = number_of(frame_places, frames);
    PyErr_Restore(type, value, traceback);
}

void stack_capture(struct call_stack *stack) { capture(stack, MOST_FRAMES, FRAMES_VISITED, false); }

void stack_capture_whole(struct call_stack *stack) { capture(stack, MOST_FRAMES, UINT32_MAX, true); }

uint64_t stack_site(void) {
    struct call_stack stack;
    capture(&stack, 0, UINT32_MAX, false);
    return stack.site;
}

size_t put_number(const char *name, uint64_t number, char *out) {
    char digits[20];
    size_t count = 0, length = strlen(name);
    do digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    memcpy(out, name, length);
    for (size_t i = 0; i < count; i++) out[length + i] = digits[count - 1 - i];
    return length + count;
}

size_t stack_fields(const struct call_stack *stack, char *out, size_t room) {
    if (!stack->number || room < 64) return 0;
    struct numbered *known = &stacks[stack->number - 1];
    size_t used = put_number(",\"stack\":", stack->number, out);
    if (known->epoch == store.epoch) return used;
    known->epoch = store.epoch;
    used += (size_t)snprintf(out + used, room - used, ",\"at\":[");
    for (uint32_t i = 0; i < known->frames; i++) {
        const struct place *place = &places[known->frame[i]];
        if (!place->size || used + place->size + 3 > room) break;
        if (i) out[used++] = ',';
        memcpy(out + used, place->json, place->size);
        used += place->size;
    }
    out[used++] = ']';
    return used;
}

PyObject *core_stack_site(PyObject *module, PyObject *ignored) { return PyLong_FromUnsignedLongLong(stack_site()); }

void stack_hold(uint64_t site, uint64_t key, uint32_t channel, const char *fields, size_t length) {
    char text[STACK_TEXT + 256];
    struct call_stack stack;
    if (length > 200) return;
    stack_capture(&stack);
    memcpy(text, fields, length);
    size_t used = length + stack_fields(&stack, text + length, sizeof text - length - 1);
    if (used) {
        text[0] = '{'; /* for the first comma */
        text[used++] = '}';
    }
    put_extended(KIND_HOLD, stack.site ? stack.site : site, key, channel, text, used, 0);
}

/* hold(channel, key, site, fields): a HOLD of a resource that a spec declares. */
PyObject *core_hold(PyObject *module, PyObject *arguments) {
    unsigned int channel;
    unsigned long long key, site;
    const char *fields;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "IKKy#:hold", &channel, &key, &site, &fields, &length)) return NULL;
    if (store.active) stack_hold(site, key, channel, fields, (size_t)length);
    Py_RETURN_NONE;
}
