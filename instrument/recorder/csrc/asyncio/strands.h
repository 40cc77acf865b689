/* The state for asyncio: the hooked functions, the handles that run on this thread, and the strands of tasks.
 *
 * A table outside the task stores the task's strand, and forgets the task when it is deallocated. */

#ifndef CLEW_ASYNCIO_STRANDS_H
#define CLEW_ASYNCIO_STRANDS_H

#include <structmember.h>

#include "hooks/operands.h"

static size_t json_escape(char *out, size_t room, const char *text, size_t length); /* core.c */

#define MAX_RUNS 64u

static struct {
    bool handles, futures, tasks; /* what has been hooked */
    uint32_t handle_channel, future_channel;
    uint64_t run_site, future_site, task_site;
    uint32_t handle_space, outcome_space, cancel_space;
    Py_ssize_t callback, arguments;       /* offsets of `Handle._callback` and `_args` */
    PyTypeObject *handle;                 /* Owned, like all below */
    PyTypeObject *future, *task;          /* NULL where asyncio has no C part */
    PyObject *collectors;                 /* list of the code and the functions that count down; compared by identity */
    PyObject *python_steps;               /* the same of the functions that are steps of a task written in Python */
    PyObject *foreign;                    /* strand_of(task) -> int, of a task that is not of the C type */
    PyCFunction done, get_name, get_coro; /* of the C types, called without a lookup */
    PyTypeObject *step;                   /* Borrowed: the type of a callback that steps a task, once one was seen */
    Py_ssize_t step_task;                 /* offset of the task in it */
    const PyMethodDef *wakeup;            /* Borrowed: of the builtin that wakes a task, once one was seen */
    destructor task_dealloc;
    initproc task_init;
    unaryfunc future_await, task_await;
    PyAsyncMethods future_async, task_async;
} aio;

/* One run of a handle under way on a thread. */
struct run {
    uint64_t key;   /* of its strand or scope; 0 when its beginning was not recorded */
    uint64_t count; /* key of what its callback counts down, or 0 */
    uint64_t epoch; /* the recording that it began in */
    PyObject *task; /* Owned; NULL for a scope */
};

struct runs {
    uint32_t depth;
    PyObject *waking; /* Borrowed: what the step under way was woken by, until asyncio has asked for its result */
    struct run run[MAX_RUNS];
};

static __thread struct runs *runs __attribute__((tls_model("initial-exec")));
static pthread_key_t runs_key;

static struct runs *runs_here(void) {
    if (UNLIKELY(!runs)) {
        runs = calloc(1, sizeof *runs);
        pthread_setspecific(runs_key, runs);
    }
    return runs;
}

static struct table strands; /* of tasks of the C type; an entry's key is the strand's */

static void strand_forget(const PyObject *task) { Py_XDECREF(table_forget(&strands, task).coroutine); }

static void strand_define(PyObject *task, const struct beside *strand) {
    char name[256], coroutine[256], text[640];
    size_t lengths[2] = {0, 0};
    PyObject *names[2] = {aio.get_name(task, NULL), Py_XNewRef(strand->coroutine)};
    for (int i = 0; i < 2; i++) {
        Py_ssize_t bytes;
        const char *utf8 = names[i] && PyUnicode_Check(names[i]) ? PyUnicode_AsUTF8AndSize(names[i], &bytes) : NULL;
        if (utf8) lengths[i] = json_escape(i ? coroutine : name, sizeof name, utf8, (size_t)bytes);
        Py_XDECREF(names[i]);
    }
    PyErr_Clear();
    int written =
        snprintf(text, sizeof text, "{\"kind\": \"task\", \"name\": \"%.*s\", \"thread\": %u, \"coroutine\": \"%.*s\"}",
                 (int)lengths[0], name, self.serial, (int)lengths[1], coroutine);
    define(KIND_STRAND, strand->key, text, (size_t)written);
}

/* The qualified name of a coroutine's function, or of the type of what a task runs instead. */
static PyObject *coroutine_name(PyObject *coroutine) {
    PyObject *name = NULL;
    if (coroutine && (PyCoro_CheckExact(coroutine) || PyGen_CheckExact(coroutine)))
        name = PyObject_GetAttrString(coroutine, "__qualname__");
    else if (coroutine) name = PyType_GetQualName(Py_TYPE(coroutine));
    PyErr_Clear();
    return name;
}

/* A strand for the task, anew in every recording. */
static COLD struct beside *strand_begin(PyObject *task) {
    if (!thread_known()) return NULL;
    struct beside *found = table_find(&strands, task);
    if (!found) {
        PyObject *coroutine = aio.get_coro(task, NULL);
        PyObject *name = coroutine_name(coroutine);
        Py_XDECREF(coroutine);
        PyErr_Clear();
        found = table_add(&strands, task);
        if (!found) {
            Py_XDECREF(name);
            return NULL;
        }
        found->coroutine = name;
    }
    found->key = key_fresh();
    found->epoch = store.epoch;
    strand_define(task, found);
    return found;
}

static inline struct beside *strand_of(PyObject *task) {
    struct beside *found = table_find(&strands, task);
    return LIKELY(found && found->epoch == store.epoch) ? found : strand_begin(task);
}

#endif
