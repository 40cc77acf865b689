#include "facts/object_identity.h"

#include "hooks/operands.h"

static struct table others; /* objects without attributes; `key` is the number, `epoch` the slots, `coroutine` the reference */
static struct {
    PyObject *number, *channel, *capacity; /* Owned: names of attributes */
} names;
static uint64_t last_number;
static uint32_t space;

uint64_t number_fresh(void) { return ++last_number; }

uint64_t key_of_number(uint64_t number) {
    if (UNLIKELY(!space)) space = space_new();
    return keys.base[space] + number * 0x9E3779B97F4A7C15u;
}

static bool names_known(void) {
    if (LIKELY(names.capacity != NULL)) return true;
    names.number = PyUnicode_InternFromString("_clew_number");
    names.channel = PyUnicode_InternFromString("_clew_channel");
    names.capacity = PyUnicode_InternFromString("_clew_capacity");
    PyErr_Clear();
    return names.number && names.channel && names.capacity;
}

static inline bool has_attributes(PyObject *object) { return Py_TYPE(object)->tp_dictoffset != 0; }

static PyObject *gone(PyObject *address, PyObject *reference) {
    struct beside was = table_forget(&others, PyLong_AsVoidPtr(address));
    Py_XDECREF(was.coroutine);
    Py_RETURN_NONE;
}

static PyMethodDef gone_method = {"gone", gone, METH_O, NULL};

static COLD struct beside *add_other(PyObject *object) {
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return NULL;
    PyObject *address = PyLong_FromVoidPtr(object);
    PyObject *callback = address ? PyCFunction_New(&gone_method, address) : NULL;
    PyObject *reference = callback ? PyWeakref_NewRef(object, callback) : NULL;
    Py_XDECREF(callback);
    Py_XDECREF(address);
    struct beside *place = reference ? table_add(&others, object) : NULL;
    if (place) {
        place->key = number_fresh();
        place->coroutine = reference;
    } else Py_XDECREF(reference);
    PyErr_Clear();
    return place;
}

static struct beside *other_of(PyObject *object) {
    struct beside *place = table_find(&others, object);
    return LIKELY(place != NULL) ? place : add_other(object);
}

/* 0 for none. */
static uint64_t number_of(PyObject *object) {
    if (!names_known()) return 0;
    if (!has_attributes(object)) {
        struct beside *place = other_of(object);
        return place ? place->key : 0;
    }
    PyObject *number = PyObject_GenericGetAttr(object, names.number);
    if (!number) {
        PyErr_Clear();
        number = PyLong_FromUnsignedLongLong(number_fresh());
        if (number && PyObject_GenericSetAttr(object, names.number, number)) Py_CLEAR(number);
        PyErr_Clear();
    }
    uint64_t found = number && PyLong_CheckExact(number) ? PyLong_AsUnsignedLongLongMask(number) : 0;
    Py_XDECREF(number);
    return found;
}

uint64_t object_key(PyObject *object) {
    uint64_t number = number_of(object);
    return number ? key_of_number(number) : 0;
}

PyObject *stored_in(PyObject *object, PyObject *name) {
    PyObject *value = NULL;
    if (has_attributes(object)) {
        PyObject *own = PyObject_GenericGetDict(object, NULL);
        value = own && PyDict_Check(own) ? Py_XNewRef(PyDict_GetItemWithError(own, name)) : NULL;
        Py_XDECREF(own);
    }
    if (!value) {
        PyObject *member = _PyType_Lookup(Py_TYPE(object), name);
        if (member && Py_IS_TYPE(member, &PyMemberDescr_Type))
            value = Py_TYPE(member)->tp_descr_get(member, object, (PyObject *)Py_TYPE(object));
    }
    PyErr_Clear();
    return value;
}

static uint64_t positive(PyObject *value) {
    long number = value && PyLong_CheckExact(value) ? PyLong_AsLong(value) : 0;
    Py_XDECREF(value);
    PyErr_Clear();
    return number > 0 ? (uint64_t)number : 0;
}

uint64_t slots_of(PyObject *object, PyObject *attribute) {
    if (!names_known()) return 0;
    uint64_t slots = attribute && attribute != names.capacity ? positive(stored_in(object, attribute)) : 0;
    if (slots) return slots;
    if (has_attributes(object)) { /* our own name: faster than its dictionary, which may not be made yet */
        PyObject *own = PyObject_GenericGetAttr(object, names.capacity);
        return own ? positive(own) : (PyErr_Clear(), 0);
    }
    struct beside *place = table_find(&others, object);
    return place ? place->epoch : 0;
}

PyObject *core_object_key(PyObject *module, PyObject *object) { return PyLong_FromUnsignedLongLong(object_key(object)); }

/* slots_are(object, slots): how many it has. */
PyObject *core_slots_are(PyObject *module, PyObject *arguments) {
    PyObject *object, *slots;
    if (!PyArg_ParseTuple(arguments, "OO!:slots_are", &object, &PyLong_Type, &slots)) return NULL;
    if (names_known() && has_attributes(object)) PyObject_GenericSetAttr(object, names.capacity, slots);
    else if (names_known()) {
        struct beside *place = other_of(object);
        if (place) place->epoch = positive(Py_NewRef(slots));
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}

/* part_of(part, owner, channel): who waits for the part waits for its owner, by the channel. The part has attributes. */
PyObject *core_part_of(PyObject *module, PyObject *arguments) {
    PyObject *part, *owner, *channel;
    if (!PyArg_ParseTuple(arguments, "OOO!:part_of", &part, &owner, &PyLong_Type, &channel)) return NULL;
    PyObject *number = PyLong_FromUnsignedLongLong(number_of(owner));
    if (number && names_known() && PyObject_IsTrue(number) && has_attributes(part)) {
        PyObject *slots = PyLong_FromUnsignedLongLong(slots_of(owner, NULL));
        if (!PyObject_GenericSetAttr(part, names.number, number)) PyObject_GenericSetAttr(part, names.channel, channel);
        PyErr_Clear();
        if (slots && PyObject_IsTrue(slots)) PyObject_GenericSetAttr(part, names.capacity, slots);
        Py_XDECREF(slots);
    }
    Py_XDECREF(number);
    PyErr_Clear();
    Py_RETURN_NONE;
}
