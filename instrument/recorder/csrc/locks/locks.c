#include "locks/locks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "facts/waits.h"
#include "hooks/methods.h"
#include "hooks/operands.h"
#include "locks/holders.h"
#include "store/store.h"
#include "trace_format.h"

enum { MECHANISMS = 8, PLAIN_LOCK = 0, MUTED = 255 };

struct awaited {
    PyObject *lock;    /* Borrowed: the waiting code holds it. NULL in an empty place */
    uint64_t key;      /* of the latest RELEASE that no ACQUIRE has taken yet; else 0 */
    uint32_t waiting;  /* threads */
    uint8_t mechanism; /* index in `mechanisms`, or MUTED */
    bool announced;    /* made for one wait, and in the table from the start */
};

static struct {
    struct awaited *places; /* Owned; open addressing, at most half of it taken */
    size_t capacity;        /* a power of two, or 0 */
    size_t count;
} awaited;

static struct {
    uint32_t channel;
    uint64_t acquired, released; /* words of records */
} mechanisms[MECHANISMS];

static struct {
    PyObject *threading;             /* Owned: the module's namespace */
    PyTypeObject *type;              /* Owned: of a lock */
    PyObject *callers;               /* Owned: {qualified name in threading.py: mechanism, or -1 for "as its caller"} */
    PyObject *at_once;               /* Owned: the arguments (False,) */
    struct method lock[6], rlock[6]; /* in the order of `lock_methods` and `rlock_methods` */
    PyCFunction is_owned;            /* of RLock */
    destructor dealloc[2];           /* of a lock, of an RLock */
    uint32_t channels[2];            /* of facts: waits for a lock, for an RLock */
    bool ours;
} locks;

/* The table */

static inline size_t awaited_home(const PyObject *lock) {
    return (size_t)(((uint64_t)(uintptr_t)lock >> 4) * 0x9E3779B97F4A7C15u >> 32) & (awaited.capacity - 1);
}

static struct awaited *awaited_find(const PyObject *lock) {
    if (!awaited.count) return NULL;
    for (size_t i = awaited_home(lock);; i = (i + 1) & (awaited.capacity - 1)) {
        if (awaited.places[i].lock == lock) return &awaited.places[i];
        if (!awaited.places[i].lock) return NULL;
    }
}

static struct awaited *awaited_place(PyObject *lock) {
    size_t i = awaited_home(lock);
    while (awaited.places[i].lock) i = (i + 1) & (awaited.capacity - 1);
    awaited.count++;
    awaited.places[i] = (struct awaited){.lock = lock};
    return &awaited.places[i];
}

/* The place of a lock, a new one if need be; NULL when there is no memory for it. */
static struct awaited *awaited_add(PyObject *lock) {
    struct awaited *found = awaited_find(lock);
    if (found) return found;
    if (2 * (awaited.count + 1) > awaited.capacity) {
        struct awaited *old = awaited.places;
        size_t size = awaited.capacity, capacity = size ? 2 * size : 64;
        struct awaited *places = calloc(capacity, sizeof *places);
        if (!places) return NULL;
        awaited.places = places;
        awaited.capacity = capacity;
        awaited.count = 0;
        for (size_t i = 0; i < size; i++)
            if (old[i].lock) *awaited_place(old[i].lock) = old[i];
        free(old);
    }
    return awaited_place(lock);
}

static void awaited_remove(struct awaited *gone) {
    size_t empty = (size_t)(gone - awaited.places), mask = awaited.capacity - 1;
    for (size_t i = (empty + 1) & mask; awaited.places[i].lock; i = (i + 1) & mask) {
        /* An entry that would no longer be found after the gap moves into it. */
        if (((i - awaited_home(awaited.places[i].lock)) & mask) >= ((i - empty) & mask)) {
            awaited.places[empty] = awaited.places[i];
            empty = i;
        }
    }
    awaited.places[empty].lock = NULL;
    awaited.count--;
}

void locks_forked(uint64_t process, uint64_t epoch) {
    holders_forked(process, epoch);
    if (awaited.capacity) memset(awaited.places, 0, awaited.capacity * sizeof *awaited.places);
    awaited.count = 0;
}

/* Records */

/* Records last what a wait took up, because a record may take a new chunk, which may run any code. */
static void record_acquire(uint8_t mechanism, uint64_t key) {
    if (key && mechanism != MUTED) put_keyed(mechanisms[mechanism].acquired, key, mechanisms[mechanism].channel, 0);
}

/* The lock was free at once. That is the end of a wait only if it was made for one and is released already. */
static COLD void acquired_at_once(PyObject *lock) {
    struct awaited *place = awaited_find(lock);
    if (place && place->announced && place->key) {
        uint64_t key = place->key;
        uint8_t mechanism = place->mechanism;
        awaited_remove(place);
        record_acquire(mechanism, key);
    }
}

static COLD void released(PyObject *lock) {
    struct awaited *place = awaited_find(lock);
    if (!place || !store.active) return;
    uint64_t key = place->key = key_fresh();
    uint8_t mechanism = place->mechanism;
    if (mechanism != MUTED) put_keyed(mechanisms[mechanism].released, key, mechanisms[mechanism].channel, 0);
}

static bool wait_begins(PyObject *lock) {
    struct awaited *place = store.active ? awaited_add(lock) : NULL;
    if (place) place->waiting++;
    return place != NULL;
}

/* A wait that fails takes nothing up. */
static void wait_ends(PyObject *lock, bool acquired) {
    struct awaited *place = awaited_find(lock); /* not in a child that was forked meanwhile */
    if (!place) return;
    uint64_t key = acquired ? place->key : 0;
    uint8_t mechanism = place->mechanism;
    if (acquired) place->key = 0;
    if (place->waiting) place->waiting--;
    if (place->announced || !place->waiting) awaited_remove(place);
    record_acquire(mechanism, key);
}

enum { LOCK = 0, RLOCK = 1 }; /* which type */

/* Records that the thread is about to block: the first attempt failed, and nothing ran since. */
static COLD struct wait tell(PyObject *lock, int which, double limit) {
    struct awaited *place = awaited_find(lock);
    struct wait wait = {0};
    struct holder holder;
    bool own = place && place->announced;
    uint32_t waiters = place ? place->waiting - 1 : 0;
    if (place && place->mechanism == MUTED) return wait;
    if (wait_tell_caller(&wait, limit, !own) || own) return wait;
    /* Who waited alone when the lock was released has it, but has not noted that yet. */
    bool held = holder_copy(lock, &holder) || (place && place->key && waiter_copy(lock, &holder));
    wait = wait_tell(locks.channels[which], lock_key(lock), limit, waiters, held ? &holder : NULL, "", 0);
    if (held) holder_drop(&holder);
    return wait;
}

/* Calls the original, which may block. `tells`: it will, as far as is known. */
static COLD PyObject *acquire_waiting(PyObject *lock, PyObject *arguments, PyObject *keywords, int which, PyCFunction original,
                                      bool tells, double limit) {
    bool waits = wait_begins(lock);
    struct wait wait = {0};
    if (waits && tells) wait = tell(lock, which, limit);
    struct waiter *waiter = waiter_add(lock);
    PyObject *result = ((PyCFunctionWithKeywords)(void (*)(void))original)(lock, arguments, keywords);
    if (result == Py_True) {
        if (which == RLOCK) holder_add_again(lock);
        else holder_add(lock, 1);
    }
    waiter_remove(waiter);
    wait_over(&wait, wait_end(result));
    if (waits) wait_ends(lock, result && result != Py_False);
    return result;
}

/* The lock is taken, or may be. */
static inline void taken(PyObject *lock, int which) {
    if (which == RLOCK) holder_add_again(lock);
    else holder_add(lock, 1);
    if (UNLIKELY(awaited.count)) acquired_at_once(lock);
}

/* Reads the arguments of an acquire. False when they are unusual, and the original is to judge them. */
static bool arguments_known(PyObject *arguments, PyObject *keywords, bool *blocking, double *limit) {
    Py_ssize_t given = PyTuple_GET_SIZE(arguments), named = keywords ? PyDict_GET_SIZE(keywords) : 0;
    PyObject *flag = given > 0 ? PyTuple_GET_ITEM(arguments, 0) : NULL,
             *time = given > 1 ? PyTuple_GET_ITEM(arguments, 1) : NULL;
    PyObject *by_name = named ? PyDict_GetItemString(keywords, "blocking") : NULL;
    if (by_name) named--, flag = flag ? NULL : by_name;
    PyObject *time_by_name = named ? PyDict_GetItemString(keywords, "timeout") : NULL;
    if (time_by_name) named--, time = time ? NULL : time_by_name;
    if (named || given > 2 || given + (by_name != NULL) + (time_by_name != NULL) != (flag != NULL) + (time != NULL))
        return false;
    if (flag && !PyBool_Check(flag)) return false;
    *blocking = flag != Py_False;
    *limit = NO_LIMIT;
    if (!time) return true;
    if (!PyFloat_CheckExact(time) && !PyLong_CheckExact(time)) return false;
    double seconds = PyFloat_CheckExact(time) ? PyFloat_AS_DOUBLE(time) : PyLong_AsDouble(time);
    if (PyErr_Occurred()) PyErr_Clear();
    else if (seconds >= 0 && seconds < 1e8) *limit = seconds;
    else if (seconds != -1) return false;
    return *limit == NO_LIMIT || *blocking;
}

static COLD PyObject *acquire_with(PyObject *lock, PyObject *arguments, PyObject *keywords, int which, PyCFunction original) {
    bool blocking;
    double limit;
    if (!arguments_known(arguments, keywords, &blocking, &limit))
        return acquire_waiting(lock, arguments, keywords, which, original, false, NO_LIMIT);
    PyObject *result = ((PyCFunctionWithKeywords)(void (*)(void))original)(lock, locks.at_once, NULL);
    if (result == Py_True) {
        taken(lock, which);
        return result;
    }
    if (!result) return NULL;
    if (blocking) {
        Py_DECREF(result);
        return acquire_waiting(lock, arguments, keywords, which, original, limit != 0, limit);
    }
    struct awaited *place = awaited_find(lock);
    if (place && place->announced) /* A wait of no length is over. */
        awaited_remove(place);
    return result;
}

/* Methods */

static inline PyObject *acquire(PyObject *lock, PyObject *arguments, PyObject *keywords, int which, PyCFunction original) {
    if (UNLIKELY(keywords || PyTuple_GET_SIZE(arguments))) return acquire_with(lock, arguments, keywords, which, original);
    PyObject *result = ((PyCFunctionWithKeywords)(void (*)(void))original)(lock, locks.at_once, NULL);
    if (LIKELY(result == Py_True)) {
        taken(lock, which);
        return result;
    }
    if (!result) return NULL;
    Py_DECREF(result);
    return acquire_waiting(lock, arguments, NULL, which, original, true, NO_LIMIT);
}

static PyObject *lock_acquire(PyObject *lock, PyObject *arguments, PyObject *keywords) {
    return acquire(lock, arguments, keywords, LOCK, locks.lock[0].original);
}

static PyObject *lock_release(PyObject *lock, PyObject *ignored) {
    PyObject *result = locks.lock[3].original(lock, ignored);
    if (UNLIKELY(!result)) return NULL;
    if (UNLIKELY(awaited.count)) released(lock);
    holder_remove(lock);
    return result;
}

static PyObject *rlock_acquire(PyObject *lock, PyObject *arguments, PyObject *keywords) {
    return acquire(lock, arguments, keywords, RLOCK, locks.rlock[0].original);
}

static PyObject *rlock_release(PyObject *lock, PyObject *ignored) {
    PyObject *result = locks.rlock[2].original(lock, ignored);
    if (UNLIKELY(awaited.count) && result && awaited_find(lock)) {
        PyObject *owned = locks.is_owned(lock, NULL);
        if (owned == Py_False) /* else it was acquired several times */
            released(lock);
        Py_XDECREF(owned);
    }
    if (LIKELY(result != NULL)) holder_remove_once(lock);
    return result;
}

/* A condition calls these two for its lock around a wait. */
static PyObject *rlock_release_save(PyObject *lock, PyObject *ignored) {
    PyObject *state = locks.rlock[4].original(lock, ignored);
    if (UNLIKELY(awaited.count) && state) released(lock);
    if (state) holder_remove(lock);
    return state;
}

/* How often a condition's lock was acquired before the wait. */
static uint32_t acquires_saved(PyObject *arguments) {
    PyObject *state = PyTuple_GET_SIZE(arguments) == 1 ? PyTuple_GET_ITEM(arguments, 0) : NULL;
    PyObject *count = state && PyTuple_CheckExact(state) && PyTuple_GET_SIZE(state) ? PyTuple_GET_ITEM(state, 0) : NULL;
    long number = count && PyLong_CheckExact(count) ? PyLong_AsLong(count) : 1;
    PyErr_Clear();
    return number > 0 ? (uint32_t)number : 1;
}

static PyObject *rlock_acquire_restore(PyObject *lock, PyObject *arguments) {
    uint32_t acquires = acquires_saved(arguments);
    bool waits = wait_begins(lock);
    struct wait wait = {0};
    if (waits && holder_find(lock)) wait = tell(lock, RLOCK, NO_LIMIT);
    struct waiter *waiter = waiter_add(lock);
    PyObject *result = locks.rlock[5].original(lock, arguments);
    if (result) holder_add(lock, acquires);
    waiter_remove(waiter);
    wait_over(&wait, wait_end(result));
    if (waits) wait_ends(lock, result != NULL);
    return result;
}

static void forget(PyObject *lock) {
    struct awaited *place = UNLIKELY(awaited.count) ? awaited_find(lock) : NULL;
    if (place) awaited_remove(place); /* a condition's wait may be interrupted before it blocks */
    if (UNLIKELY(holders.count)) holder_remove(lock);
    lock_key_forget(lock);
}

static void lock_dealloc(PyObject *lock) {
    forget(lock);
    locks.dealloc[LOCK](lock);
}

static void rlock_dealloc(PyObject *lock) {
    forget(lock);
    locks.dealloc[RLOCK](lock);
}

struct lock_method {
    const char *name;
    int flags;
    PyCFunction function;
    int same_as; /* index of the method whose original must be the same function */
};

#define BY_KEYWORDS (METH_VARARGS | METH_KEYWORDS)
#define KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

static const struct lock_method lock_methods[6] = {
    {"acquire", BY_KEYWORDS, KEYWORDS(lock_acquire), 0},   {"acquire_lock", BY_KEYWORDS, KEYWORDS(lock_acquire), 0},
    {"__enter__", BY_KEYWORDS, KEYWORDS(lock_acquire), 0}, {"release", METH_NOARGS, lock_release, 3},
    {"release_lock", METH_NOARGS, lock_release, 3},        {"__exit__", METH_VARARGS, lock_release, 3},
};

static const struct lock_method rlock_methods[6] = {
    {"acquire", BY_KEYWORDS, KEYWORDS(rlock_acquire), 0},
    {"__enter__", BY_KEYWORDS, KEYWORDS(rlock_acquire), 0},
    {"release", METH_NOARGS, rlock_release, 2},
    {"__exit__", METH_VARARGS, rlock_release, 2},
    {"_release_save", METH_NOARGS, rlock_release_save, 4},
    {"_acquire_restore", METH_VARARGS, rlock_acquire_restore, 5},
};

/* Are the type's methods what we know? */
static bool methods_known(PyTypeObject *type, const struct lock_method *known) {
    for (int i = 0; i < 6; i++) {
        PyMethodDef *method = method_find(type, known[i].name);
        PyMethodDef *same = method_find(type, known[known[i].same_as].name);
        if (!method || method->ml_flags != known[i].flags || !same || method->ml_meth != same->ml_meth) return false;
    }
    return true;
}

/* The mechanism of a condition's wait: that of the caller inside threading.py. */
static uint8_t mechanism_of_wait(void) {
    uint8_t mechanism = PLAIN_LOCK + 1;
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef(PyEval_GetFrame());
    PyObject *file = NULL; /* Owned */
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        bool first = !file;
        if (first) file = Py_NewRef(code->co_filename);
        PyObject *known = NULL;
        if (code->co_filename == file || !PyUnicode_Compare(code->co_filename, file))
            known = PyDict_GetItemWithError(locks.callers, code->co_qualname);
        long number = known ? PyLong_AsLong(known) : -1;
        Py_DECREF(code);
        if (number >= 0) mechanism = (uint8_t)number;
        PyFrameObject *back = known || first ? PyFrame_GetBack(frame) : NULL;
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(file);
    PyErr_Clear();
    return mechanism;
}

PyObject *core_waiter(PyObject *module, PyObject *ignored) {
    PyObject *allocate = Py_XNewRef(PyDict_GetItemString(locks.threading, "_allocate_lock"));
    if (!allocate) return PyErr_Format(PyExc_NameError, "name '_allocate_lock' is not defined");
    PyObject *lock = PyObject_CallNoArgs(allocate);
    Py_DECREF(allocate);
    if (lock && store.active && Py_IS_TYPE(lock, locks.type)) {
        uint8_t mechanism = mechanism_of_wait();
        struct awaited *place = awaited_add(lock);
        if (place) *place = (struct awaited){.lock = lock, .mechanism = mechanism, .announced = true};
    }
    return lock;
}

PyObject *core_trace_locks(PyObject *module, PyObject *arguments) {
    PyObject *threading, *rows, *callers;
    PyTypeObject *lock_type, *rlock_type;
    unsigned int lock_channel, rlock_channel;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!O!(II):trace_locks", &PyDict_Type, &threading, &PyType_Type, &lock_type,
                          &PyType_Type, &rlock_type, &PyTuple_Type, &rows, &PyDict_Type, &callers, &lock_channel,
                          &rlock_channel))
        return NULL;
    if (locks.ours) Py_RETURN_TRUE;
    PyMethodDef *is_owned = method_find(rlock_type, "_is_owned");
    if (!methods_known(lock_type, lock_methods) || !methods_known(rlock_type, rlock_methods) || !is_owned ||
        is_owned->ml_flags != METH_NOARGS)
        Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows) && i < MECHANISMS; i++) {
        unsigned long long acquire_site, release_site;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "IKK", &mechanisms[i].channel, &acquire_site, &release_site))
            return NULL;
        mechanisms[i].acquired = keyed_word(KIND_ACQUIRE, acquire_site);
        mechanisms[i].released = keyed_word(KIND_RELEASE, release_site);
    }
    locks.at_once = Py_BuildValue("(O)", Py_False);
    if (!locks.at_once) return NULL;
    locks.threading = Py_NewRef(threading);
    locks.type = (PyTypeObject *)Py_NewRef((PyObject *)lock_type);
    locks.callers = Py_NewRef(callers);
    locks.is_owned = is_owned->ml_meth;
    locks.channels[LOCK] = lock_channel;
    locks.channels[RLOCK] = rlock_channel;
    locks.ours = true;
    for (int i = 0; i < 6; i++) {
        locks.lock[i].original = method_find(lock_type, lock_methods[i].name)->ml_meth;
        locks.rlock[i].original = method_find(rlock_type, rlock_methods[i].name)->ml_meth;
    }
    for (int i = 0; i < 6; i++)
        if (!method_replace(lock_type, lock_methods[i].name, lock_methods[i].function, &locks.lock[i]) ||
            !method_replace(rlock_type, rlock_methods[i].name, rlock_methods[i].function, &locks.rlock[i]))
            return NULL;
    locks.dealloc[LOCK] = lock_type->tp_dealloc;
    locks.dealloc[RLOCK] = rlock_type->tp_dealloc;
    lock_type->tp_dealloc = lock_dealloc;
    rlock_type->tp_dealloc = rlock_dealloc;
    Py_RETURN_TRUE;
}
