/* The state for asyncio: the hooked functions, the handles that run on this thread, and the strands of tasks.
 *
 * A table outside the task stores the task's strand, and forgets the task when it is deallocated. */
#ifndef CLEW_ASYNCIO_STRANDS_H
#define CLEW_ASYNCIO_STRANDS_H

#include "core.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <structmember.h>

#include "facts/stack_numbers.h"
#include "hooks/operands.h"
#include "store/store.h"

#define MAX_RUNS 64u

struct aio {
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
    PyTypeObject *timer;                  /* of a handle that a timer runs; NULL before `watch_task_waits` */
    PyTypeObject *step;                   /* Borrowed: the type of a callback that steps a task, once one was seen */
    Py_ssize_t step_task;                 /* offset of the task in it */
    const PyMethodDef *wakeup;            /* Borrowed: of the builtin that wakes a task, once one was seen */
    destructor task_dealloc, future_dealloc, task_finalize;
    initproc task_init;
    unaryfunc future_await, task_await;
    PyAsyncMethods future_async, task_async;
};
SHARED struct aio aio;

/* One run of a handle under way on a thread. */
struct run {
    uint64_t key;   /* of its strand or scope; 0 when its beginning was not recorded */
    uint64_t count; /* key of what its callback counts down, or 0 */
    uint64_t epoch; /* the recording that it began in */
    PyObject *task; /* Owned; NULL for a scope */
    bool timer;     /* a scope of a callback that a timer runs */
};

struct runs {
    uint32_t depth;
    PyObject *waking;        /* Borrowed: what the step under way was woken by, until asyncio has asked for its result */
    PyObject *awaited;       /* Borrowed, only to compare: the unfinished future that the step awaited last */
    struct call_stack stack; /* of that await */
    const void *owner;       /* only to compare: the `self` of the function that awaited */
    bool handling;           /* a CancelledError was being handled there; only known of a task that was asked */
    struct run run[MAX_RUNS];
};

SHARED __thread struct runs *runs __attribute__((tls_model("initial-exec")));
SHARED pthread_key_t runs_key;

struct runs *runs_here(void);

SHARED struct table strands; /* of tasks of the C type; an entry's key is the strand's */

void strand_forget(const PyObject *task);

void strand_define(PyObject *task, const struct beside *strand);

/* The qualified name of a coroutine's function, or of the type of what a task runs instead. */
PyObject *coroutine_name(PyObject *coroutine);

/* A strand for the task, a new one in every recording. */
COLD struct beside *strand_begin(PyObject *task);

static inline struct beside *strand_of(PyObject *task) {
    struct beside *found = table_find(&strands, task);
    return LIKELY(found && found->epoch == store.epoch) ? found : strand_begin(task);
}

#endif
