#include "hooks/operands.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct keys keys = {.spaces = 1}; /* no mechanism has space 0 */

void keys_renew(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = clock_read(CLOCK_REALTIME) * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid();
    for (uint32_t i = 0; i <= SPACES; i++) {
        uint64_t mixed = seed += 0x9E3779B97F4A7C15u;
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
        *(i < SPACES ? &keys.base[i] : &keys.last) = mixed ^ mixed >> 31;
    }
}

uint32_t space_new(void) { return keys.spaces < SPACES ? keys.spaces++ : SPACES - 1; }

static bool table_grow(struct table *table) {
    struct table grown = {.mask = table->place ? 2 * table->mask + 1 : 63, .used = table->used};
    grown.place = calloc(grown.mask + 1, sizeof *grown.place);
    if (!grown.place) return false;
    for (size_t i = 0; table->place && i <= table->mask; i++)
        if (table->place[i].object) {
            size_t slot = table_slot(&grown, table->place[i].object);
            while (grown.place[slot].object) slot = (slot + 1) & grown.mask;
            grown.place[slot] = table->place[i];
        }
    free(table->place);
    *table = grown;
    return true;
}

struct beside *table_add(struct table *table, PyObject *object) {
    if ((!table->place || 2 * (table->used + 1) > table->mask) && !table_grow(table)) return NULL;
    size_t slot = table_slot(table, object);
    while (table->place[slot].object) slot = (slot + 1) & table->mask;
    table->used++;
    table->place[slot] = (struct beside){.object = object};
    return &table->place[slot];
}

struct beside table_forget(struct table *table, const PyObject *object) {
    struct beside *found = table_find(table, object), was = {.object = NULL};
    if (!found) return was;
    was = *found;
    size_t hole = (size_t)(found - table->place);
    for (size_t i = (hole + 1) & table->mask; table->place[i].object; i = (i + 1) & table->mask)
        if (((i - table_slot(table, table->place[i].object)) & table->mask) >= ((i - hole) & table->mask)) {
            table->place[hole] = table->place[i];
            hole = i;
        }
    table->place[hole].object = NULL;
    table->used--;
    return was;
}

static int operand_assign(PyObject *operand, PyObject *object, PyObject *other) {
    return ((struct operand *)operand)->act((struct operand *)operand, object, other);
}

static PyObject *operand_invert(PyObject *operand) {
    return ((struct operand *)operand)->act((struct operand *)operand, NULL, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyNumberMethods operand_number = {.nb_invert = operand_invert};
static PyMappingMethods operand_mapping = {.mp_ass_subscript = operand_assign};

int act_put(struct operand *operand, PyObject *object, PyObject *other) {
    put_keyed(operand->word, key_in(operand->space, object), operand->channel, 0);
    return 0;
}

PyTypeObject operand_type;

PyObject *operand_make(act_function act, uint64_t word, uint32_t channel, uint32_t space) {
    struct operand *operand = PyObject_New(struct operand, &operand_type);
    if (!operand) return NULL;
    operand->act = act;
    operand->attribute = NULL;
    operand->wanted = operand->counted = false;
    operand->word = word;
    operand->channel = channel;
    operand->space = space;
    return (PyObject *)operand;
}

static int act_put_when(struct operand *operand, PyObject *object, PyObject *other) {
    PyObject *value = PyObject_GenericGetAttr(object, operand->attribute);
    if (value == (operand->wanted ? Py_True : Py_False))
        put_keyed(operand->word, key_in(operand->space, object), operand->channel, 0);
    Py_XDECREF(value);
    PyErr_Clear();
    return 0;
}

static void operand_dealloc(PyObject *operand) {
    Py_XDECREF(((struct operand *)operand)->attribute);
    PyObject_Free(operand);
}

static PyObject *operand_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"kind", "site", "channel", "space", "attribute", "wanted", NULL};
    unsigned int kind, site, channel, space;
    PyObject *attribute = NULL;
    int wanted = 1;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "IIII|Up:Operand", names, &kind, &site, &channel, &space, &attribute,
                                     &wanted))
        return NULL;
    if (kind == 0 || kind > 255 || space == 0 || space >= keys.spaces)
        return PyErr_Format(PyExc_ValueError, "there is no kind %u or no space %u", kind, space);
    PyObject *made = operand_make(attribute ? act_put_when : act_put, keyed_word(kind, site), channel, space);
    if (made && attribute) {
        ((struct operand *)made)->attribute = Py_NewRef(attribute);
        PyUnicode_InternInPlace(&((struct operand *)made)->attribute);
        ((struct operand *)made)->wanted = wanted;
    }
    return made;
}

int drop_error(void) {
    if (!PyErr_Occurred()) return 0;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear();
    return 0;
}

PyTypeObject operand_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Operand",
    .tp_doc = "Operand(kind, site, channel, space, attribute=..., wanted=True): `del operand[object]` records the object, "
              "with an attribute only when that is `wanted`.",
    .tp_basicsize = sizeof(struct operand),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = operand_new,
    .tp_dealloc = operand_dealloc,
    .tp_as_number = &operand_number,
    .tp_as_mapping = &operand_mapping,
};
