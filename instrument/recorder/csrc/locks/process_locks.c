#include "locks/process_locks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "facts/stack_numbers.h"
#include "facts/waits.h"
#include "hooks/methods.h"
#include "hooks/operands.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

static struct {
    struct patched acquire, enter, release, exit;
    PyCFunction count, is_mine;
    PyTypeObject *type; /* Owned */
    destructor dealloc;
    uint64_t site, word; /* of an acquire; of a RETURN */
    struct table known;  /* by lock; `key`, `channel`, `epoch` is the capacity, `limited` is `held`, `asked` is `recursive` */
} shared;

struct shared_lock {
    uint64_t key, capacity;
    uint32_t channel;
    bool held, recursive;
};

static bool lookup(PyObject *lock, struct shared_lock *found) {
    struct beside *place = store.active ? table_find(&shared.known, lock) : NULL;
    if (!place) return false;
    *found = (struct shared_lock){place->key, place->epoch, place->channel, place->limited, place->asked};
    return true;
}

/* How often the calling thread has acquired the lock: more than once only if it may. */
static long acquires(PyObject *lock) {
    PyObject *mine = shared.is_mine(lock, NULL), *count = mine == Py_True ? shared.count(lock, NULL) : NULL;
    long number = count ? PyLong_AsLong(count) : 0;
    Py_XDECREF(count);
    Py_XDECREF(mine);
    return number;
}

static void acquired(PyObject *lock, const struct shared_lock *own) {
    if (!own->held || !store.active || (own->recursive && acquires(lock) != 1)) return;
    char capacity[48];
    size_t size = own->capacity ? put_number(",\"capacity\":", own->capacity, capacity) : 0;
    stack_hold(shared.site, own->key, own->channel, capacity, size);
}

static struct wait tell_shared(const struct shared_lock *own, double limit) {
    struct wait wait = {0};
    char capacity[40];
    if (wait_tell_caller(&wait, limit, own->held)) return wait;
    int size = own->capacity ? snprintf(capacity, sizeof capacity, "\"capacity\":%llu,", (unsigned long long)own->capacity) : 0;
    return wait_tell(own->channel, own->key, limit, 0, NULL, capacity, (size_t)size);
}

/* Whether the arguments of an acquire let it wait, and how long. Unusual ones are left to the original, which may refuse them. */
static bool may_wait(PyObject *const *arguments, Py_ssize_t count, PyObject *names, double *limit) {
    PyObject *given[2] = {count > 0 ? arguments[0] : NULL, count > 1 ? arguments[1] : NULL};
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        bool is_time = !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "timeout");
        given[is_time] = arguments[count + i];
    }
    *limit = NO_LIMIT;
    if (count > 2 || (given[0] && given[0] != Py_True && !(PyLong_CheckExact(given[0]) && PyObject_IsTrue(given[0]))))
        return false;
    if (!given[1] || given[1] == Py_None) return true;
    if (!PyFloat_CheckExact(given[1]) && !PyLong_CheckExact(given[1])) return false;
    *limit = limit_seconds(given[1]);
    return *limit > 0;
}

static PyObject *acquire_shared(const struct patched *method, PyObject *lock, PyObject *const *arguments, Py_ssize_t count,
                                PyObject *names) {
    struct shared_lock own;
    double limit;
    if (!lookup(lock, &own)) return call_original(method, lock, arguments, count, names);
    PyObject *result = NULL;
    if (may_wait(arguments, count, names, &limit)) {
        PyObject *at_once[1] = {Py_False};
        result = call_original(&shared.acquire, lock, at_once, 1, NULL);
        if (!result) return NULL;
        if (result == Py_False) {
            Py_DECREF(result);
            struct wait wait = tell_shared(&own, limit);
            result = call_original(method, lock, arguments, count, names);
            wait_over(&wait, wait_end(result));
        }
    } else result = call_original(method, lock, arguments, count, names);
    if (result == Py_True) acquired(lock, &own);
    return result;
}

static PyObject *shared_acquire(PyObject *lock, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    return acquire_shared(&shared.acquire, lock, arguments, count, names);
}

static PyObject *shared_enter(PyObject *lock, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    return acquire_shared(&shared.enter, lock, arguments, count, names);
}

/* A release that fails gives nothing back: then nobody has the lock, or only another thread, whose lock this is. */
static void releasing(PyObject *lock) {
    struct shared_lock own;
    if (lookup(lock, &own) && own.held && (!own.recursive || acquires(lock) == 1))
        put_keyed(shared.word, own.key, own.channel, 0);
}

static PyObject *shared_release(PyObject *lock, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (!count && !names) releasing(lock);
    return call_original(&shared.release, lock, arguments, count, names);
}

static PyObject *shared_exit(PyObject *lock, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (count <= 3 && !names) releasing(lock);
    return call_original(&shared.exit, lock, arguments, count, names);
}

static void shared_dealloc(PyObject *lock) {
    if (shared.known.used) table_forget(&shared.known, lock);
    shared.dealloc(lock);
}

PyObject *core_trace_process_locks(PyObject *module, PyObject *arguments) {
    PyTypeObject *type;
    unsigned long long acquire_site, release_site;
    if (!PyArg_ParseTuple(arguments, "O!KK:trace_process_locks", &PyType_Type, &type, &acquire_site, &release_site))
        return NULL;
    if (shared.type) Py_RETURN_NONE;
    if (!(shared.count = plain_method(type, "_count")) || !(shared.is_mine = plain_method(type, "_is_mine")) ||
        !patch_method(type, "acquire", &shared.acquire, shared_acquire) ||
        !patch_method(type, "__enter__", &shared.enter, shared_enter) ||
        !patch_method(type, "release", &shared.release, shared_release) ||
        !patch_method(type, "__exit__", &shared.exit, shared_exit))
        return NULL;
    shared.site = acquire_site;
    shared.word = keyed_word(KIND_RETURN, release_site);
    shared.dealloc = type->tp_dealloc;
    type->tp_dealloc = shared_dealloc;
    shared.type = (PyTypeObject *)Py_NewRef((PyObject *)type);
    Py_RETURN_NONE;
}

PyObject *core_share_lock(PyObject *module, PyObject *arguments) {
    PyObject *lock;
    unsigned long long key, capacity;
    unsigned int channel;
    int held, recursive;
    if (!PyArg_ParseTuple(arguments, "OKIKpp:share_lock", &lock, &key, &channel, &capacity, &held, &recursive)) return NULL;
    if (shared.type && Py_IS_TYPE(lock, shared.type)) {
        struct beside *place = table_find(&shared.known, lock);
        if (!place) place = table_add(&shared.known, lock);
        if (place) {
            place->key = key;
            place->channel = channel;
            place->epoch = capacity;
            place->limited = held;
            place->asked = recursive;
        }
    }
    Py_RETURN_NONE;
}

PyObject *core_shared_key(PyObject *module, PyObject *lock) {
    struct beside *place = table_find(&shared.known, lock);
    return PyLong_FromUnsignedLongLong(place ? place->key : 0);
}
