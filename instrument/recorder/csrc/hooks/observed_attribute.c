#include "hooks/observed_attribute.h"

#include <stdint.h>

#include "facts/object_identity.h"
#include "hooks/operands.h"
#include "store/store.h"
#include "streams/transfer_table.h"
#include "trace_format.h"

struct latch {
    PyObject_HEAD
    PyObject *name;   /* Owned: of the attribute it stands for */
    PyObject *values; /* Owned: tuple of strings or singletons, the values that matter */
    uint64_t set_site, get_site;
    uint32_t channel;
    uint8_t set_kind, get_kind; /* 0: records nothing */
    bool own;                   /* the key is that of the object, which gets a value that matters once */
};

static PyObject *latch_key; /* Owned: the attribute that holds the key */

static bool latch_matters(const struct latch *latch, PyObject *value) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(latch->values); i++) {
        PyObject *item = PyTuple_GET_ITEM(latch->values, i);
        if (value == item || (PyUnicode_CheckExact(value) && PyUnicode_CheckExact(item) && !PyUnicode_Compare(value, item)))
            return true;
    }
    return false;
}

/* Is this what the thread recorded last? Looking twice is looking once. */
static bool just_recorded(uint64_t word, uint64_t key) {
    if (!self.chunk || self.cur - self.chunk < CHUNK_HEADER_SIZE + (ptrdiff_t)KEYED_SIZE) return false;
    const struct record *record = (const struct record *)(self.cur - KEYED_SIZE);
    return record->word == word && ((const struct extension *)(record + 1))->key == key;
}

static PyObject *latch_get(PyObject *self, PyObject *instance, PyObject *owner) {
    struct latch *latch = (struct latch *)self;
    if (!instance || instance == Py_None) return Py_NewRef(self);
    PyObject *value = PyObject_GetAttr(instance, latch->name);
    if (value && latch->get_kind && store.active && latch_matters(latch, value)) {
        PyObject *key = PyObject_GenericGetAttr(instance, latch_key);
        uint64_t number = key && PyLong_CheckExact(key) ? PyLong_AsUnsignedLongLongMask(key) : 0;
        uint64_t word = keyed_word(latch->get_kind, latch->get_site);
        if (number && !just_recorded(word, number)) put_keyed(word, number, latch->channel, 0);
        Py_XDECREF(key);
        PyErr_Clear();
    }
    return value;
}

static int latch_set(PyObject *self, PyObject *instance, PyObject *value) {
    struct latch *latch = (struct latch *)self;
    if (value && latch->set_kind && store.active && latch_matters(latch, value)) {
        PyObject *old = PyObject_GetAttr(instance, latch->name);
        if (old && !latch_matters(latch, old)) {
            uint64_t number = latch->own ? object_key(instance) : key_fresh();
            PyObject *key = PyLong_FromUnsignedLongLong(number);
            if (key && !PyObject_GenericSetAttr(instance, latch_key, key))
                put_keyed(keyed_word(latch->set_kind, latch->set_site), number, latch->channel, 0);
            Py_XDECREF(key);
        }
        Py_XDECREF(old);
        PyErr_Clear();
    }
    return PyObject_SetAttr(instance, latch->name, value);
}

static PyObject *latch_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"name", "values", "channel", "set_kind", "set_site", "get_kind", "get_site", "own", NULL};
    PyObject *name, *values;
    unsigned int channel;
    unsigned char set_kind, get_kind;
    unsigned long long set_site, get_site;
    int own = false;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "UO!IbKbK|p:Latch", names, &name, &PyTuple_Type, &values, &channel,
                                     &set_kind, &set_site, &get_kind, &get_site, &own))
        return NULL;
    struct latch *latch = (struct latch *)type->tp_alloc(type, 0);
    if (!latch) return NULL;
    latch->name = Py_NewRef(name);
    latch->values = Py_NewRef(values);
    latch->channel = channel;
    latch->set_kind = set_kind;
    latch->get_kind = get_kind;
    latch->set_site = set_site;
    latch->get_site = get_site;
    latch->own = own;
    return (PyObject *)latch;
}

static void latch_dealloc(PyObject *self) {
    Py_CLEAR(((struct latch *)self)->name);
    Py_CLEAR(((struct latch *)self)->values);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject latch_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Latch",
    .tp_doc =
        "Latch(name, values, channel, set_kind, set_site, get_kind, get_site, own=False): stands for the attribute `name`.",
    .tp_basicsize = sizeof(struct latch),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = latch_new,
    .tp_dealloc = latch_dealloc,
    .tp_descr_get = latch_get,
    .tp_descr_set = latch_set,
};

bool latch_ready(void) {
    latch_key = PyUnicode_InternFromString("_clew_key");
    return latch_key && PyType_Ready(&latch_type) == 0;
}
