#include "hooks/writes.h"

#include <string.h>

#include "hooks/operands.h"
#include "store/records.h"
#include "store/sampling.h"
#include "store/store.h"
#include "trace_format.h"

#define BUCKETS 256u
#define MOST_TEXT 47u /* three slots */
#define MOST_SIZE (RECORD_SIZE * 5)
#define MOST_STRING 24

/* Values of `clew.records.format.states.Form`. */
enum form { FORM_ATTRIBUTE, FORM_ITEM, FORM_METHOD, FORM_VARIABLE, FORM_CLOSURE, FORM_GIVEN, FORMS };

struct write {
    PyObject_HEAD
    uint64_t site, number; /* number: of a variable, in place of an address */
    uint64_t off;          /* the recording, by its epoch, in which nothing is recorded any more */
    uint32_t channel;
    uint8_t form;
    bool hidden;         /* the value's name is redacted */
    bool texts;          /* strings may be recorded */
    const PyObject *key; /* Borrowed between two adjacent instructions: an item's key */
    struct write *next;  /* Borrowed; in the site's bucket. A write lives as long as the process. */
};

static struct write *writes[BUCKETS];
static uint32_t space;
static PyTypeObject *deque_type, *enum_type; /* Owned; NULL until the program has imported their modules */

struct text {
    char *at, *end;
};

static void add(struct text *text, const char *from, size_t length) {
    size_t room = (size_t)(text->end - text->at);
    length = length < room ? length : room;
    memcpy(text->at, from, length);
    text->at += length;
}

static void add_name(struct text *text, const char *name) { add(text, name, strlen(name)); }

static void add_number(struct text *text, uint64_t number) {
    char digits[24], *first = digits + sizeof digits;
    do *--first = (char)('0' + number % 10);
    while (number /= 10);
    add(text, first, (size_t)(digits + sizeof digits - first));
}

/* The 16 hexadecimal digits of a key: each 4 bits become a byte, without a loop over them. */
static void add_key(struct text *text, uint64_t key) {
    uint64_t halves[2] = {key >> 32, key & 0xFFFFFFFFu};
    char digits[16];
    for (int half = 0; half < 2; half++) {
        uint64_t spread = halves[half];
        spread = (spread | spread << 16) & 0x0000FFFF0000FFFFu;
        spread = (spread | spread << 8) & 0x00FF00FF00FF00FFu;
        spread = (spread | spread << 4) & 0x0F0F0F0F0F0F0F0Fu;
        uint64_t letters = ((spread + 0x0606060606060606u) >> 4) & 0x0101010101010101u;
        spread = __builtin_bswap64(spread + 0x3030303030303030u + letters * ('a' - '0' - 10));
        memcpy(digits + 8 * half, &spread, 8);
    }
    add(text, digits, sizeof digits);
}

static void add_int(struct text *text, PyObject *value) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) {
        add_name(text, overflow < 0 ? "int below -2**63" : "int above 2**63");
        return;
    }
    if (number < 0) add(text, "-", 1);
    add_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

static void add_float(struct text *text, PyObject *value) {
    char *digits = PyOS_double_to_string(PyFloat_AS_DOUBLE(value), 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (!digits) {
        PyErr_Clear();
        add_name(text, "float");
        return;
    }
    add_name(text, digits);
    PyMem_Free(digits);
}

static void add_string(struct text *text, PyObject *value, bool texts) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(value);
    bool plain = texts && PyUnicode_IS_COMPACT_ASCII(value) && length <= MOST_STRING;
    const char *from = plain ? (const char *)PyUnicode_1BYTE_DATA(value) : NULL;
    for (Py_ssize_t i = 0; plain && i < length; i++)
        plain = from[i] >= ' ' && from[i] < 127 && from[i] != '\'' && from[i] != '\\';
    if (plain) {
        add(text, "'", 1);
        add(text, from, (size_t)length);
        add(text, "'", 1);
    } else {
        add_name(text, "str of ");
        add_number(text, (uint64_t)length);
        add_name(text, length == 1 ? " character" : " characters");
    }
}

/* The type of a module's attribute, without importing the module; NULL until the program has. */
static PyTypeObject *known_type(const char *module, const char *name) {
    PyObject *modules = PyImport_GetModuleDict(), *found = PyDict_GetItemString(modules, module), *type = NULL;
    if (found && PyModule_CheckExact(found)) type = PyDict_GetItemString(PyModule_GetDict(found), name);
    return type && PyType_Check(type) ? (PyTypeObject *)Py_NewRef(type) : NULL;
}

static bool add_enum_member(struct text *text, PyObject *value, bool texts) {
    PyTypeObject *type = Py_TYPE(value);
    if (Py_TYPE(type) == &PyType_Type) return false;
    if (!enum_type) enum_type = known_type("enum", "EnumType");
    if (!enum_type || !PyType_IsSubtype(Py_TYPE(type), enum_type)) return false;
    PyObject **dict = _PyObject_GetDictPtr(value);
    PyObject *name = dict && *dict ? PyDict_GetItemString(*dict, "_name_") : NULL;
    if (!name || !PyUnicode_Check(name) || !PyUnicode_IS_COMPACT_ASCII(name) || !texts) return false;
    add_name(text, type->tp_name);
    add(text, ".", 1);
    add(text, (const char *)PyUnicode_1BYTE_DATA(name), (size_t)PyUnicode_GET_LENGTH(name));
    return true;
}

static void add_value(struct text *text, PyObject *value, bool texts) {
    if (value == Py_None) add_name(text, "None");
    else if (value == Py_True) add_name(text, "True");
    else if (value == Py_False) add_name(text, "False");
    else if (PyLong_CheckExact(value)) add_int(text, value);
    else if (PyFloat_CheckExact(value)) add_float(text, value);
    else if (PyUnicode_CheckExact(value)) add_string(text, value, texts);
    else if (!add_enum_member(text, value, texts)) {
        const char *name = Py_TYPE(value)->tp_name, *dot = strrchr(name, '.');
        name = dot ? dot + 1 : name;
        size_t length = strlen(name);
        add(text, name, length < 24 ? length : 24);
        add(text, " #", 2);
        add_key(text, key_in(space, value));
    }
}

/* Whether a method may change an object: a builtin container, or a context variable. */
static bool is_container(PyObject *object) {
    if (PyContextVar_CheckExact(object)) return true;
    if (PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object) || PyByteArray_Check(object)) return true;
    if (!deque_type) deque_type = known_type("collections", "deque");
    return deque_type && PyObject_TypeCheck(object, deque_type);
}

/* Whether an object may have a state that is written. */
static bool has_state(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (LIKELY(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;
    return !(object == Py_None || PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object) ||
             PyBytes_Check(object) || PyTuple_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object) ||
             PyMethod_Check(object) || PyModule_Check(object) || type == &PyComplex_Type);
}

static int given(struct write *write, PyObject *object) {
    PyObject *content = PyCell_Check(object) ? PyCell_GET(object) : object;
    if (content && (PyFunction_Check(content) || PyModule_Check(content))) return 0;
    if (content == object && !has_state(object)) return 0;
    __builtin_prefetch(self.cur + AHEAD, 1);
    put_keyed(keyed_word(KIND_GIVEN, write->site), key_in(space, object), write->channel, 0);
    return 0;
}

static uint64_t key_of(const struct write *write, const PyObject *object) {
    return write->form == FORM_VARIABLE ? keys.base[space] + write->number : key_in(space, object);
}

/* Makes the text of a write, and returns its length. No value is larger than `MOST_TEXT`. */
static size_t value_text(struct write *write, PyObject *value, const PyObject *item, char *room) {
    struct text text = {room, room + MOST_TEXT};
    if (item) {
        add_value(&text, (PyObject *)item, write->texts && !write->hidden);
        add(&text, ": ", 2);
    }
    if (value == (PyObject *)write) {
        if (write->form != FORM_METHOD) add_name(&text, "deleted");
    } else if (write->hidden) add_name(&text, "<redacted>");
    else add_value(&text, value, write->texts);
    return (size_t)(text.at - room);
}

/* With sampling, a flow decides whether it is recorded. */
static COLD int write_of_flow(struct write *write, PyObject *object, PyObject *value, const PyObject *item) {
    char room[MOST_TEXT + 1];
    size_t length = value_text(write, value, item, room);
    put_extended(KIND_WRITE, write->site, key_of(write, object), write->channel, room, length, 0);
    return 0;
}

static int write_assign(PyObject *self_object, PyObject *object, PyObject *value) {
    struct write *write = (struct write *)self_object;
    if (UNLIKELY(write->off == store.epoch || !store.active)) return 0;
    if (!value) {
        if (write->form == FORM_GIVEN) return given(write, object);
        write->key = object;
        return 0;
    }
    const PyObject *item = write->key;
    write->key = NULL;
    if (write->form == FORM_METHOD && !is_container(object)) return 0;
    if (UNLIKELY(flows.on)) return write_of_flow(write, object, value, item);
    if (UNLIKELY((size_t)(self.end - self.cur) < MOST_SIZE) && !claim()) return 0;
    /* The text is made in its place. */
    char *at = self.cur, *room = at + 2 * RECORD_SIZE;
    __builtin_prefetch(at + AHEAD, 1);
    size_t length = value_text(write, value, item, room);
    struct record *record = (struct record *)at;
    struct extension *extension = (struct extension *)(record + 1);
    uint64_t slots = 1 + (length + 15) / 16;
    extension->length = (uint16_t)length;
    extension->flags = 0;
    extension->channel = write->channel;
    extension->key = key_of(write, object);
    __atomic_store_n(&record->word, pack_word(KIND_WRITE, write->site, slots, 0), __ATOMIC_RELAXED);
    __atomic_store_n(&record->ticks, now(), __ATOMIC_RELEASE);
    self.cur = at + RECORD_SIZE * (1 + slots);
    return 0;
}
bool writes_switch_off(uint64_t site) {
    bool found = false;
    for (struct write *write = writes[site % BUCKETS]; write; write = write->next)
        if (write->site == site) {
            write->off = store.epoch;
            found = true;
        }
    return found;
}

static PyObject *write_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"form", "site", "channel", "number", "hidden", "texts", NULL};
    unsigned int form, site, channel;
    unsigned long long number;
    int hidden, texts;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "IIIKpp:Write", names, &form, &site, &channel, &number, &hidden,
                                     &texts))
        return NULL;
    if (form >= FORMS) return PyErr_Format(PyExc_ValueError, "there is no form %u", form);
    struct write *write = PyObject_New(struct write, type);
    if (!write) return NULL;
    write->site = site;
    write->number = number;
    write->off = 0;
    write->channel = channel;
    write->form = (uint8_t)form;
    write->hidden = hidden;
    write->texts = texts;
    write->key = NULL;
    write->next = writes[site % BUCKETS];
    writes[site % BUCKETS] = (struct write *)Py_NewRef(write);
    return (PyObject *)write;
}

static PyMappingMethods write_mapping = {.mp_ass_subscript = write_assign};

bool writes_ready(PyObject *module) {
    space = space_new();
    return PyType_Ready(&write_type) >= 0 && PyModule_AddObjectRef(module, "Write", (PyObject *)&write_type) >= 0;
}

PyTypeObject write_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Write",
    .tp_doc = "Write(form, site, channel, number, hidden, texts): `write[object] = value` records that the object is written.",
    .tp_basicsize = sizeof(struct write),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = write_new,
    .tp_dealloc = (destructor)PyObject_Free,
    .tp_as_mapping = &write_mapping,
};
