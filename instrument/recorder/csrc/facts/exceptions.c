#include "facts/exceptions.h"

#include <stdio.h>
#include <string.h>

#include "facts/exception_identity.h"
#include "facts/exception_text.h"
#include "facts/limits.h"
#include "facts/stack.h"
#include "facts/stack_numbers.h"
#include "store/records.h"
#include "store/sampling.h"
#include "store/store.h"
#include "store/thread_definition.h"
#include "trace_format.h"

#define MOST_CHARACTERS 200
#define MOST_MEMBERS 16
#define MOST_DEPTH 4
#define MOST_NODES 64
#define FRAMES_ROOM 2000
#define MOST_A_SECOND 1000
#define LIMITS 256u
#define CACHED 512

static const char too_many[] = "exceptions: of one type from one line at most 1,000/s are recorded; the rest is counted";

static struct {
    bool on;
    PyObject *redact; /* Owned: redact(text) -> text */
    PyObject *intern; /* Owned: intern(name) -> number */
    PyObject *texts;  /* Owned: {message: redacted message}, of recent messages */
    PyObject *names;  /* Owned: {type name: number} */
    uint32_t channel; /* of gaps */
} hooks;

static const struct {
    const char *name;
    enum role role;
} roles[] = {{"raised", RAISED}, {"handled", HANDLED}, {"ended", ENDED}, {"unretrieved", UNRETRIEVED}, {"context", CONTEXT}};

/* The limits of lines that raise. A collision gives a line a new limit. */
static struct raiser {
    PyTypeObject *type; /* Compared, never followed, as `code` */
    PyCodeObject *code;
    int instruction;
    struct limit limit;
} raisers[LIMITS];

/* ---- What clew's own functions answer ---- */

/* An interrupt that comes during such a call is raised again in the program. */
static PyObject *asked(PyObject *function, PyObject *argument) {
    PyObject *result = PyObject_CallOneArg(function, argument);
    if (!result && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
    PyErr_Clear();
    return result;
}

/* What `function` answers to a text, cached; a new reference, or NULL. */
static PyObject *cached(PyObject *cache, PyObject *function, PyObject *text) {
    PyObject *known = PyDict_GetItemWithError(cache, text);
    if (known) return Py_NewRef(known);
    known = asked(function, text);
    if (!known) return NULL;
    if (PyDict_GET_SIZE(cache) >= CACHED) PyDict_Clear(cache);
    PyDict_SetItem(cache, text, known);
    PyErr_Clear();
    return known;
}

static uint32_t channel_of(PyTypeObject *type) {
    PyObject *name = type_name(type), *number = name ? cached(hooks.names, hooks.intern, name) : NULL;
    unsigned long channel = number ? PyLong_AsUnsignedLong(number) : 0;
    Py_XDECREF(number);
    Py_XDECREF(name);
    PyErr_Clear();
    return (uint32_t)channel;
}

/* The message as it is recorded, inside a JSON string. */
static size_t message_json(PyObject *error, char *out, size_t room) {
    PyObject *all = exception_message(error), *redacted = all ? cached(hooks.texts, hooks.redact, all) : NULL;
    PyObject *text = NULL, *bytes = NULL;
    if (redacted && PyUnicode_Check(redacted)) {
        bool fits = PyUnicode_GET_LENGTH(redacted) <= MOST_CHARACTERS;
        text = fits ? Py_NewRef(redacted) : PyUnicode_Substring(redacted, 0, MOST_CHARACTERS - 1);
        if (text) bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
        size_t used = bytes ? json_escape(out, room - 3, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)) : 0;
        if (bytes && !fits) {
            memcpy(out + used, "\xE2\x80\xA6", 3);
            used += 3;
        }
        room = used;
    } else {
        room = 0;
    }
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    Py_XDECREF(redacted);
    Py_XDECREF(all);
    PyErr_Clear();
    return room;
}

/* ---- The traceback ---- */

struct node {
    PyTracebackObject *traceback; /* Borrowed */
    PyCodeObject *code;           /* Owned */
    enum origin origin;
    bool chosen;
};

struct path {
    struct node node[MOST_NODES]; /* outermost first */
    int count;
};

static int line_of(const struct node *node) {
    int line = node->traceback->tb_lineno;
    return line > 0 ? line : PyCode_Addr2Line(node->code, node->traceback->tb_lasti);
}

/* Of a long traceback, the outermost frame of the program and the innermost frames. */
static void path_read(struct path *path, PyObject *error) {
    path->count = 0;
    PyObject *first = ((PyBaseExceptionObject *)error)->traceback;
    if (!first || !PyTraceBack_Check(first)) return;
    for (PyTracebackObject *at = (PyTracebackObject *)first; at; at = at->tb_next) {
        PyCodeObject *code = PyFrame_GetCode(at->tb_frame);
        enum origin origin = code_origin(code);
        if (origin == CLEW) {
            Py_DECREF(code);
            continue;
        }
        if (path->count == MOST_NODES) {
            int oldest = path->node[0].origin == PROGRAM;
            Py_DECREF(path->node[oldest].code);
            memmove(path->node + oldest, path->node + oldest + 1, (size_t)(MOST_NODES - oldest - 1) * sizeof *path->node);
            path->count--;
        }
        path->node[path->count++] = (struct node){at, code, origin, false};
    }
}

static void path_clear(struct path *path) {
    for (int i = 0; i < path->count; i++) Py_DECREF(path->node[i].code);
    path->count = 0;
}

/* Chooses the frame that raised, the outermost one of the program, then the innermost ones, the program's first. */
static void path_choose(struct path *path) {
    int left = MOST_FRAMES;
    for (int round = 0; round < 4; round++) {
        for (int number = 0; number < path->count && left; number++) {
            int i = round == 1 ? number : path->count - 1 - number;
            struct node *node = &path->node[i];
            if (node->chosen || ((round == 1 || round == 2) && node->origin != PROGRAM)) continue;
            node->chosen = true;
            left--;
            if (round < 2) break;
        }
    }
}

static size_t path_json(const struct path *path, char *out, size_t room) {
    size_t used = 1;
    out[0] = '[';
    for (int i = path->count - 1; i >= 0; i--) {
        const struct node *node = &path->node[i];
        size_t comma = used > 1;
        if (!node->chosen || used + 3 >= room) continue;
        size_t written = code_json(node->code, node->traceback->tb_lasti, out + used + comma, room - used - comma - 1);
        if (!written) continue;
        if (comma) out[used] = ',';
        used += comma + written;
    }
    out[used++] = ']';
    return used;
}

/* The innermost line of the program in the traceback, else of a library, else the line that runs. */
static uint64_t path_site(const struct path *path) {
    const struct node *best = NULL;
    for (int i = path->count - 1; i >= 0; i--) {
        const struct node *node = &path->node[i];
        if (node->origin <= LIBRARY && (!best || node->origin < best->origin)) best = node;
    }
    return best ? line_site(best->traceback->tb_frame, best->code, line_of(best)) : stack_site();
}

/* ---- Records ---- */

/* Is the exception to be recorded, or are there too many from this line? */
static COLD bool is_admitted(PyObject *error) {
    struct path path;
    path_read(&path, error);
    const struct node *node = path.count ? &path.node[path.count - 1] : NULL;
    PyCodeObject *code = node ? node->code : NULL;
    int instruction = node ? node->traceback->tb_lasti : 0;
    uint64_t mixed = (uintptr_t)Py_TYPE(error) * 31 + (uintptr_t)code + (uint64_t)instruction * 7;
    struct raiser *raiser = &raisers[(mixed * 0x9E3779B97F4A7C15u >> 40) % LIMITS];
    if (raiser->type != Py_TYPE(error) || raiser->code != code || raiser->instruction != instruction) {
        limit_end_gap(&raiser->limit, hooks.channel, too_many);
        *raiser = (struct raiser){Py_TYPE(error), code, instruction, {.epoch = store.epoch}};
    }
    bool admitted = limit_admits(&raiser->limit, MOST_A_SECOND);
    if (admitted) limit_end_gap(&raiser->limit, hooks.channel, too_many);
    else if (raiser->limit.dropped == 1) limit_begin_gap(&raiser->limit, path_site(&path), hooks.channel, too_many);
    path_clear(&path);
    return admitted;
}

static uint64_t record(PyObject *error, enum role role, int depth);

/* Records what the exception followed from, and writes `,"cause":KEY` and so on. */
static size_t others_json(PyObject *error, int depth, char *out, size_t room) {
    PyBaseExceptionObject *base = (PyBaseExceptionObject *)error;
    size_t used = 0;
    uint64_t cause = base->cause ? record(base->cause, CONTEXT, depth + 1) : 0;
    uint64_t context = base->context && base->context != base->cause ? record(base->context, CONTEXT, depth + 1) : 0;
    if (base->context && base->context == base->cause) context = cause;
    if (cause) used += (size_t)snprintf(out + used, room - used, ",\"cause\":%llu", (unsigned long long)cause);
    if (context) used += (size_t)snprintf(out + used, room - used, ",\"context\":%llu", (unsigned long long)context);
    if (!PyObject_TypeCheck(error, (PyTypeObject *)PyExc_BaseExceptionGroup)) return used;
    PyObject *members = ((PyBaseExceptionGroupObject *)error)->excs;
    int count = 0;
    for (Py_ssize_t i = 0; members && PyTuple_CheckExact(members) && i < PyTuple_GET_SIZE(members) && count < MOST_MEMBERS;
         i++) {
        uint64_t key = record(PyTuple_GET_ITEM(members, i), CONTEXT, depth + 1);
        if (!key) continue;
        used += (size_t)snprintf(out + used, room - used, "%s%llu", count++ ? "," : ",\"members\":[", (unsigned long long)key);
    }
    if (count) out[used++] = ']';
    return used;
}

static COLD void store_record(PyObject *error, enum role role, uint64_t key, const char *others, size_t more) {
    char text[MAX_TEXT];
    const char *name = "";
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (roles[i].role == role) name = roles[i].name;
    size_t used = (size_t)snprintf(text, sizeof text, "{\"role\":\"%s\",\"message\":\"", name);
    used += message_json(error, text + used, 6 * MOST_CHARACTERS + 3);
    memcpy(text + used, "\",\"at\":", 7);
    used += 7;
    struct path path;
    path_read(&path, error);
    path_choose(&path);
    used += path_json(&path, text + used, FRAMES_ROOM);
    memcpy(text + used, others, more);
    used += more;
    text[used++] = '}';
    put_extended(KIND_EXCEPTION, path_site(&path), key, channel_of(Py_TYPE(error)), text, used, 0);
    path_clear(&path);
}

/* It calls itself for causes, so it takes little of the stack: a thread's may be small. */
static uint64_t record(PyObject *error, enum role role, int depth) {
    if (!PyExceptionInstance_Check(error) || depth > MOST_DEPTH) return 0;
    struct identity identity = identity_of(error);
    if (identity.roles & LEFT_OUT && role != ENDED && role != UNRETRIEVED) return 0;
    if (role == CONTEXT ? identity.roles : role != HANDLED && identity.roles & role) return identity.key;
    if (role == HANDLED && identity.roles & HANDLED) { /* which one it is suffices */
        static const char again[] = "{\"role\":\"handled\"}";
        put_extended(KIND_EXCEPTION, stack_site(), identity.key, channel_of(Py_TYPE(error)), again, sizeof again - 1, 0);
        return identity.key;
    }
    identity_add(error, role); /* first, so that exceptions that name each other come to an end */
    if (role == RAISED && !is_admitted(error)) {
        identity_add(error, LEFT_OUT);
        return 0;
    }
    char others[64 + MOST_MEMBERS * 24];
    size_t more = depth < MOST_DEPTH ? others_json(error, depth, others, sizeof others) : 0;
    store_record(error, role, identity.key, others, more);
    return identity.key;
}

static uint64_t record_apart(PyObject *error, enum role role) {
    if (!hooks.on || !store.active || self.flow.state == FLOW_DROPPED || !thread_known()) return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyThreadState *state = PyThreadState_Get();
    PyThreadState_EnterTracing(state);
    Py_INCREF(error);
    uint64_t key = record(error, role, 0);
    Py_DECREF(error);
    PyThreadState_LeaveTracing(state);
    PyErr_Restore(type, value, traceback);
    return key;
}

uint64_t exception_record(PyObject *error, const char *role) {
    for (size_t i = 0; error && i < sizeof roles / sizeof *roles; i++)
        if (!strcmp(roles[i].name, role)) return record_apart(error, roles[i].role);
    return 0;
}

void exception_handled(void) {
    if (!hooks.on || !store.active) return;
    PyObject *error = PyErr_GetHandledException();
    if (error && error != Py_None) record_apart(error, HANDLED);
    Py_XDECREF(error);
}

/* ---- For Python ---- */

/* watch_exceptions(redact, intern): see `hooks`. */
PyObject *core_watch_exceptions(PyObject *module, PyObject *arguments) {
    PyObject *redact, *intern;
    unsigned int channel;
    if (!PyArg_ParseTuple(arguments, "OOI:watch_exceptions", &redact, &intern, &channel)) return NULL;
    Py_XSETREF(hooks.redact, Py_NewRef(redact));
    Py_XSETREF(hooks.intern, Py_NewRef(intern));
    Py_XSETREF(hooks.texts, PyDict_New());
    Py_XSETREF(hooks.names, PyDict_New());
    hooks.channel = channel;
    if (!hooks.texts || !hooks.names) return NULL;
    hooks.on = true;
    Py_RETURN_NONE;
}

PyObject *core_exception_record(PyObject *module, PyObject *arguments) {
    PyObject *error;
    const char *role;
    if (!PyArg_ParseTuple(arguments, "Os:exception_record", &error, &role)) return NULL;
    return PyLong_FromUnsignedLongLong(exception_record(error, role));
}

PyObject *core_exceptions_over(PyObject *module, PyObject *ignored) {
    for (size_t i = 0; i < LIMITS && store.active; i++) limit_end_gap(&raisers[i].limit, hooks.channel, too_many);
    if (hooks.texts) PyDict_Clear(hooks.texts);
    Py_RETURN_NONE;
}
