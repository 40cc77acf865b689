#include "calls/probes.h"

#include <stdint.h>

#include "calls/counting.h"
#include "calls/exception_exit.h"
#include "calls/probe_slab.h"
#include "store/clock.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

/* Stores a plain record, or counts its call. */
static COLD void probe_slow(struct probe *probe, PyObject *error) {
    const struct details *details = details_of(probe);
    uint64_t word = probe->word;
    if (!word) {
        if (!thread_known()) /* It may run any code, so the code below checks again which recording this is. */
            return;
        word = word_of(probe);
        if (details->epoch != store.epoch) /* A new recording (after a fork, say) starts with every site recorded. */
            probe->word = word;
        else if (call_counted(details->counted, word)) return;
    }
    put_slow(details->kind == KIND_UNWIND ? ended(word, error) : word);
}

/* The slots by which bytecode runs a probe; probes/form.py says which one it uses and why. They are all there is of the hot
 * path. The cold one is called last, so that no register is saved before it is known to be needed. */

static COLD PyObject *probe_invert_slow(PyObject *object) {
    probe_slow((struct probe *)object, NULL);
    Py_RETURN_NONE;
}

static PyObject *probe_invert(PyObject *object) {
    uint64_t word = ((struct probe *)object)->word;
    if (UNLIKELY(!word || !put_fast(word))) return probe_invert_slow(object);
    Py_RETURN_NONE;
}

/* An iterator that is always at its end. */
static COLD PyObject *probe_next_slow(PyObject *object) {
    probe_slow((struct probe *)object, NULL);
    return NULL;
}

static PyObject *probe_next(PyObject *object) {
    uint64_t word = ((struct probe *)object)->word;
    if (UNLIKELY(!word || !put_fast(word))) return probe_next_slow(object);
    return NULL;
}

/* `error in probe`, at the end of a call that the exception left. */
static int probe_contains(PyObject *object, PyObject *error) {
    probe_slow((struct probe *)object, error);
    return 0;
}

static PyObject *probe_vectorcall(PyObject *object, PyObject *const *arguments, size_t count, PyObject *names) {
    if (details_of((struct probe *)object)->kind != KIND_UNWIND) return probe_invert(object);
    probe_slow((struct probe *)object, PyVectorcall_NARGS(count) == 1 ? arguments[0] : NULL);
    Py_RETURN_NONE;
}

static PyObject *probe_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"site", "kind", NULL};
    unsigned int site, kind;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "II:Probe", names, &site, &kind)) return NULL;
    if (kind == 0 || kind > 255) return PyErr_Format(PyExc_ValueError, "kind %u is not in 1 ... 255", kind);
    struct probe *probe = probe_allocate(kind);
    if (!probe) return PyErr_NoMemory();
    struct details *details = details_of(probe);
    PyObject_Init((PyObject *)probe, type);
    probe->call = probe_vectorcall;
    details->site = site;
    probe->word = word_of(probe);
    struct probe **bucket = &probes[site % BUCKETS];
    struct counted *counted = counted_of(site);
    if (counted && !is_recorded(counted)) probe_switch_off(probe, counted);
    details->next = *bucket;
    if (*bucket) details_of(*bucket)->before = probe;
    *bucket = probe;
#if PY_VERSION_HEX >= 0x030C0000
    /* Immortal: its site is for ever anyway, and no reference to it is counted at a call. */
    Py_SET_REFCNT((PyObject *)probe, _Py_IMMORTAL_REFCNT);
#endif
    return (PyObject *)probe;
}

static void probe_dealloc(PyObject *object) {
    struct probe *probe = (struct probe *)object;
    struct details *details = details_of(probe);
    if (details->before) details_of(details->before)->next = details->next;
    else probes[details->site % BUCKETS] = details->next;
    if (details->next) details_of(details->next)->before = details->before;
    probe_free(probe);
}

static PyObject *probe_repr(PyObject *object) {
    const struct details *details = details_of((struct probe *)object);
    return PyUnicode_FromFormat("<clew probe, site %u, kind %u>", (unsigned)details->site, (unsigned)details->kind);
}

static PyObject *probe_get_site(PyObject *object, void *closure) {
    return PyLong_FromUnsignedLongLong(details_of((struct probe *)object)->site);
}

static PyObject *probe_get_kind(PyObject *object, void *closure) {
    return PyLong_FromUnsignedLong(details_of((struct probe *)object)->kind);
}

static PyObject *probe_get_counting(PyObject *object, void *closure) {
    const struct counted *counted = counted_of(details_of((struct probe *)object)->site);
    return PyBool_FromLong(store.active && counted && counted->counting);
}

static PyObject *probe_get_count(PyObject *object, void *closure) {
    const struct counted *counted = counted_of(details_of((struct probe *)object)->site);
    return PyLong_FromUnsignedLongLong(store.active && counted ? *counted->calls : 0);
}

static PyGetSetDef probe_getset[] = {
    {"site", probe_get_site, NULL, "The site it records.", NULL},
    {"kind", probe_get_kind, NULL, "The kind of its records.", NULL},
    {"counting", probe_get_counting, NULL, "True while the budget has its site counted.", NULL},
    {"count", probe_get_count, NULL, "Calls of its site that were counted; 0 when not recording.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyNumberMethods probe_number = {.nb_invert = probe_invert};
static PySequenceMethods probe_sequence = {.sq_contains = probe_contains};

PyTypeObject probe_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Probe",
    .tp_doc = "Probe(site, kind): `~probe` stores a record and gives None; `error in probe` and `probe(error)` that of a call\n"
              "which the exception left.",
    .tp_basicsize = sizeof(struct probe),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = probe_new,
    .tp_dealloc = probe_dealloc,
    .tp_repr = probe_repr,
    .tp_vectorcall_offset = offsetof(struct probe, call),
    .tp_call = PyVectorcall_Call,
    .tp_as_number = &probe_number,
    .tp_as_sequence = &probe_sequence,
    .tp_iternext = probe_next,
    .tp_getset = probe_getset,
};

int probe_ready(void) {
    if (!clock_cycles) {
        probe_number.nb_invert = probe_invert_slow;
        probe_type.tp_iternext = probe_next_slow;
    }
    return PyType_Ready(&probe_type);
}
