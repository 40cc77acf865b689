/* Probe objects, and the budget that turns the hottest of them into counters.
 *
 * Invariants: `~probe` and `probe()` give None and never raise; a probe of a site that was switched to counting writes no
 * record, only a number in a COUNTERS chunk, which a killed process leaves behind like everything else. */

#ifndef CLEW_PROBES_H
#define CLEW_PROBES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "records.h"
#include "slab.h"

/* Every probe by site, so that a site's probes are found without a table in the hot path. Borrowed. */
#define BUCKETS 4096u
static struct probe *probes[BUCKETS];

static struct {
    double share;   /* of CPU time that recording may cost; 0 for no bound */
    double cost;    /* ns of one plain record, measured at start */
    double credit;  /* ns that may still be spent: grows with CPU time, shrinks with records */
    uint64_t clock; /* process CPU time up to which credit was given */
    double records; /* ns that were spent on records since a site was last judged, */
    double actions; /* and on actions: the greater part is to blame */
} budget;

static struct {
    struct counter *cur, *end; /* Borrowed: the free part of the COUNTERS chunk */
    uint64_t epoch;
    uint32_t number, segment;
} counters;

/* What a probe adds to the store, as measured: a constant pushed, the operator, its result popped; and memory that is
 * touched for the first time, which the calibration's is not. */
#define AROUND_NS 10.0
/* What Python code takes that makes a record and calls `emit`, as measured for a key of one attribute. A record of a native
 * hook has no such part: its 16-byte units, booked like plain records, are the 20 to 40 ns that it takes. */
#define EMITTED_NS 700.0
/* Credit is kept for a second of work, so that a quiet time pays for a short burst but not for a long one. */
#define CREDIT_NS 1e9
#define FIRST_CREDIT_NS 1e8

/* Time of one plain record in ns, the best of several rounds into memory nobody reads. */
static double calibrate(void) {
    char *scratch = calloc(1, CHUNK_SIZE), *cur = self.cur, *end = self.end;
    double best = 1e9;
    if (!scratch)
        return 10.0;
    for (int round = 0; round < 8; round++) {
        self.cur = scratch;
        self.end = scratch + CHUNK_SIZE;
        uint64_t started = clock_read(CLOCK_MONOTONIC);
        for (uint64_t i = 0; i < CHUNK_SIZE / RECORD_SIZE; i++)
            put(i << 32 | KIND_ENTER);
        double each = (double)(clock_read(CLOCK_MONOTONIC) - started) / (CHUNK_SIZE / RECORD_SIZE);
        best = each < best ? each : best;
    }
    self.cur = cur;
    self.end = end;
    free(scratch);
    return best;
}

static void budget_start(double share) {
    budget.share = share > 0 ? share : 0;
    budget.credit = budget.share * FIRST_CREDIT_NS;
    budget.records = budget.actions = 0;
    if (budget.share > 0) {
        budget.cost = calibrate() + AROUND_NS;
        budget.clock = clock_read(CLOCK_PROCESS_CPUTIME_ID);
    }
}

static bool probe_counts(const struct probe *probe) {
    return !probe->word && details_of(probe)->epoch == store.epoch;
}

/* The site with the most plain call records in the calling thread's full chunk, or 0. */
static uint64_t hottest_site(void) {
    enum { SLOTS = 1024 };
    static struct { /* Not on the stack: that of a thread may be 32 KB in all. */
        uint64_t site;
        uint32_t count;
    } seen[SLOTS];
    memset(seen, 0, sizeof seen);
    uint64_t hottest = 0;
    uint32_t most = 0, used = 0;
    for (char *at = self.chunk + CHUNK_HEADER_SIZE; at < self.cur;) {
        uint64_t word = ((struct record *)at)->word, site = word >> 32;
        at += RECORD_SIZE * (1 + (word >> 8 & 0xFF));
        if ((word & 0xFF) < KIND_ENTER || (word & 0xFF) > KIND_RESUME || !site)
            continue;
        uint32_t slot = (uint32_t)(site * 0x9E3779B1u) % SLOTS;
        while (seen[slot].count && seen[slot].site != site)
            slot = (slot + 1) % SLOTS;
        if (!seen[slot].count) {
            if (used == SLOTS / 2) /* Many sites, none of them hot: the ones seen first will do. */
                continue;
            used++;
            seen[slot].site = site;
        }
        if (++seen[slot].count > most) {
            most = seen[slot].count;
            hottest = site;
        }
    }
    return hottest;
}

/* Credit for the CPU time since it was last given. */
static void budget_earn(void) {
    uint64_t clock = clock_read(CLOCK_PROCESS_CPUTIME_ID);
    budget.credit += budget.share * (double)(clock - budget.clock);
    budget.clock = clock;
    if (budget.credit > budget.share * CREDIT_NS)
        budget.credit = budget.share * CREDIT_NS;
}

/* The next site is judged by what is spent from here on. */
static void budget_judged(void) {
    budget.credit = budget.share * FIRST_CREDIT_NS;
    budget.records = budget.actions = 0;
}

/* Books what the full chunk cost. Gives the site to switch off when the budget is overdrawn by records, else 0. */
static uint64_t chunk_filled(uint64_t units, uint64_t emitted) {
    if (budget.share == 0)
        return 0;
    double cost = (double)units * budget.cost + (double)emitted * EMITTED_NS;
    budget_earn();
    budget.credit -= cost;
    budget.records += cost;
    if (budget.credit >= 0 || budget.actions > budget.records)
        return 0;
    budget_judged();
    return hottest_site();
}

/* Books actions that took `ns` and made `emitted` records, which are not to be booked twice. True when the budget is
 * overdrawn by actions. */
static bool actions_booked(double ns, double emitted) {
    if (budget.share == 0)
        return false;
    budget_earn();
    budget.credit -= ns - emitted * EMITTED_NS;
    budget.actions += ns;
    budget.records -= emitted * EMITTED_NS;
    if (budget.credit >= 0 || budget.actions <= budget.records)
        return false;
    budget_judged();
    return true;
}

static uint64_t *counter_for(uint64_t site) {
    if (counters.epoch != store.epoch) {
        counters.epoch = store.epoch;
        counters.cur = counters.end = NULL;
        counters.number = 0;
    }
    if (counters.cur == counters.end) {
        bool fresh; /* A full one is never released: its numbers still grow. */
        char *chunk = chunk_claim(CHUNK_COUNTERS, NULL, counters.number++, &counters.segment, &fresh);
        if (!chunk)
            return NULL;
        counters.cur = (struct counter *)(chunk + CHUNK_HEADER_SIZE);
        counters.end = (struct counter *)(chunk + CHUNK_SIZE);
    }
    counters.cur->calls = 0;
    __atomic_store_n(&counters.cur->site, site, __ATOMIC_RELEASE);
    return &counters.cur++->calls;
}

static void probe_start_counting(struct probe *probe, uint64_t *calls) {
    probe->word = 0;
    details_of(probe)->calls = calls;
    details_of(probe)->epoch = store.epoch;
}

/* Switches a site to counting and says so, in the thread's stream and to the user. */
static void site_degraded(uint64_t site) {
    uint64_t *calls = counter_for(site);
    if (!calls)
        return;
    for (struct probe *probe = probes[site % BUCKETS]; probe; probe = details_of(probe)->next)
        if (details_of(probe)->site == site)
            probe_start_counting(probe, calls);
    char text[200];
    int length = snprintf(text, sizeof text,
                          "recording would have cost more than the budget of %.3g %%: from here on calls of this "
                          "function are counted, not recorded",
                          budget.share * 100);
    put_extended(KIND_GAP, site, 0, 0, text, (size_t)length, 0);
    define(KIND_NOTE, site, text, (size_t)length);
}

/* Counts a call, or stores what `put_fast` could not. */
static COLD void probe_slow(struct probe *probe) {
    const struct details *details = details_of(probe);
    if (!probe->word && store.active) {
        if (details->epoch == store.epoch)
            *details->calls += details->kind == KIND_ENTER;
        else /* A new recording (after a fork, say) starts with every site recorded. */
            probe->word = pack_word(details->kind, details->site, 0, 0);
    }
    if (probe->word)
        put_slow(probe->word);
}

/* The slots by which bytecode runs a probe; probes/form.py says which one it uses and why. They are all there is of the hot
 * path. The cold one is called last, so that no register is saved before it is known to be needed. */

static COLD PyObject *probe_invert_slow(PyObject *object) {
    probe_slow((struct probe *)object);
    Py_RETURN_NONE;
}

static PyObject *probe_invert(PyObject *object) {
    uint64_t word = ((struct probe *)object)->word;
    if (UNLIKELY(!word || !put_fast(word)))
        return probe_invert_slow(object);
    Py_RETURN_NONE;
}

/* An iterator at its end, for ever. */
static COLD PyObject *probe_next_slow(PyObject *object) {
    probe_slow((struct probe *)object);
    return NULL;
}

static PyObject *probe_next(PyObject *object) {
    uint64_t word = ((struct probe *)object)->word;
    if (UNLIKELY(!word || !put_fast(word)))
        return probe_next_slow(object);
    return NULL;
}

static PyObject *probe_vectorcall(PyObject *object, PyObject *const *arguments, size_t count, PyObject *names) {
    return probe_invert(object);
}

static PyObject *probe_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"site", "kind", NULL};
    unsigned int site, kind;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "II:Probe", names, &site, &kind))
        return NULL;
    if (kind == 0 || kind > 255)
        return PyErr_Format(PyExc_ValueError, "kind %u is not in 1 ... 255", kind);
    struct probe *probe = probe_allocate(kind);
    if (!probe)
        return PyErr_NoMemory();
    struct details *details = details_of(probe);
    PyObject_Init((PyObject *)probe, type);
    probe->call = probe_vectorcall;
    probe->word = pack_word(kind, site, 0, 0);
    details->site = site;
    struct probe **bucket = &probes[site % BUCKETS];
    for (struct probe *other = *bucket; other; other = details_of(other)->next)
        if (details_of(other)->site == site && probe_counts(other)) {
            probe_start_counting(probe, details_of(other)->calls);
            break;
        }
    details->next = *bucket;
    if (*bucket)
        details_of(*bucket)->before = probe;
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
    if (details->before)
        details_of(details->before)->next = details->next;
    else
        probes[details->site % BUCKETS] = details->next;
    if (details->next)
        details_of(details->next)->before = details->before;
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
    return PyBool_FromLong(store.active && probe_counts((struct probe *)object));
}

static PyObject *probe_get_count(PyObject *object, void *closure) {
    struct probe *probe = (struct probe *)object;
    return PyLong_FromUnsignedLongLong(store.active && probe_counts(probe) ? *details_of(probe)->calls : 0);
}

static PyGetSetDef probe_getset[] = {
    {"site", probe_get_site, NULL, "The site it records.", NULL},
    {"kind", probe_get_kind, NULL, "The kind of its records.", NULL},
    {"counting", probe_get_counting, NULL, "True when the budget switched its site to counting.", NULL},
    {"count", probe_get_count, NULL, "Calls of its site counted since then; 0 when not recording.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyNumberMethods probe_number = {.nb_invert = probe_invert};

static PyTypeObject probe_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "clew.instrument.recorder._core.Probe",
    .tp_doc = "Probe(site, kind): `~probe` stores a record and gives None.",
    .tp_basicsize = sizeof(struct probe),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = probe_new,
    .tp_dealloc = probe_dealloc,
    .tp_repr = probe_repr,
    .tp_vectorcall_offset = offsetof(struct probe, call),
    .tp_call = PyVectorcall_Call,
    .tp_as_number = &probe_number,
    .tp_iternext = probe_next,
    .tp_getset = probe_getset,
};

/* To be called once the clock is chosen: where it is not the cycle counter, no probe tries to read that. */
static int probe_ready(void) {
    if (!clock_cycles) {
        probe_number.nb_invert = probe_invert_slow;
        probe_type.tp_iternext = probe_next_slow;
    }
    return PyType_Ready(&probe_type);
}

#endif
