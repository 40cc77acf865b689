#include "asyncio/tasks.h"

#include <stdbool.h>
#include <stdint.h>

#include "asyncio/cancels.h"
#include "asyncio/handles.h"
#include "asyncio/strands.h"
#include "asyncio/task_waits.h"
#include "hooks/methods.h"
#include "hooks/operands.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

static struct patched f_set_result, f_set_exception, f_cancel, f_result, f_exception, f_add_done_callback;
static struct patched t_cancel, t_result, t_exception, t_set_name, t_add_done_callback;

/* Both C types begin alike, so one `done` serves them. An error (of a future whose `__init__` did not run) is the
 * original method's to raise. */
static inline bool future_is_done(PyObject *future) {
    PyObject *done = aio.done(future, NULL);
    if (UNLIKELY(!done)) {
        PyErr_Clear();
        return false;
    }
    Py_DECREF(done);
    return done == Py_True;
}

static inline void outcome_set(PyObject *future) {
    if (store.active && !future_is_done(future))
        put_keyed(keyed_word(KIND_SEND, aio.future_site), key_in(aio.outcome_space, future), aio.future_channel, 0);
}

/* Returns whether the future is unfinished. */
static inline bool outcome_taken(PyObject *future) {
    if (!store.active) return false;
    /* A task that wakes up asks for the result, too; the handle has already told what woke it. */
    if (runs && runs->waking) {
        bool wakes = runs->waking == future && Py_TYPE(future) != aio.future && Py_TYPE(future) != aio.task;
        runs->waking = NULL;
        if (wakes) return false;
    }
    if (!future_is_done(future)) return true;
    if (!is_native(future)) {
        put_keyed(keyed_word(KIND_JOIN, aio.future_site), key_in(aio.outcome_space, future), aio.future_channel, 0);
        return false;
    }
    struct beside *strand = table_find(&strands, future);
    if (strand && strand->epoch == store.epoch)
        put_keyed(keyed_word(KIND_JOIN, aio.task_site), outcome_of_strand(strand->key), aio.future_channel, 0);
    return false;
}

#define SETTING(name)                                                                                                 \
    static PyObject *name##_method(PyObject *object, PyObject *const *arguments, Py_ssize_t count, PyObject *names) { \
        outcome_set(object);                                                                                          \
        return call_original(&name, object, arguments, count, names);                                                 \
    }
#define TAKING(name)                                                                                                  \
    static PyObject *name##_method(PyObject *object, PyObject *const *arguments, Py_ssize_t count, PyObject *names) { \
        outcome_taken(object);                                                                                        \
        return call_original(&name, object, arguments, count, names);                                                 \
    }
SETTING(f_set_result)
SETTING(f_set_exception)
TAKING(f_result)
TAKING(f_exception)
TAKING(t_result)
TAKING(t_exception)

static PyObject *f_cancel_method(PyObject *future, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (store.active) cancel_future(future, arguments, count, names);
    outcome_set(future);
    return call_original(&f_cancel, future, arguments, count, names);
}

/* The code that adds a callback to a finished future schedules it, but its run also depends on the outcome. So the handle
 * is made in a small scope of its own, and the caller depends on nothing. */
static PyObject *add_done_callback(const struct patched *patched, PyObject *future, PyObject *const *arguments,
                                   Py_ssize_t count, PyObject *names) {
    if (!store.active || !future_is_done(future)) return call_original(patched, future, arguments, count, names);
    uint64_t key = key_fresh(), epoch = store.epoch;
    put_keyed(keyed_word(KIND_SEND, aio.future_site), key, aio.future_channel, 0);
    put_keyed_too(keyed_word(KIND_SCOPE_BEGIN, aio.future_site), key, aio.future_channel);
    outcome_taken(future);
    PyObject *result = call_original(patched, future, arguments, count, names);
    if (store.active && store.epoch == epoch)
        put_keyed(keyed_word(KIND_SCOPE_END, aio.future_site), key, aio.future_channel, 0);
    return result;
}

static PyObject *f_add_done_callback_method(PyObject *future, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    return add_done_callback(&f_add_done_callback, future, arguments, count, names);
}

static PyObject *t_add_done_callback_method(PyObject *task, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    return add_done_callback(&t_add_done_callback, task, arguments, count, names);
}

static PyObject *t_cancel_method(PyObject *task, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (store.active) cancel_task(task, arguments, count, names);
    cancel_passed_on(1);
    PyObject *done = call_original(&t_cancel, task, arguments, count, names);
    cancel_passed_on(-1);
    if (done != Py_True || !store.active) return done;
    PyObject *pending = PyObject_GetAttrString(task, "_must_cancel");
    if (pending == Py_True && cancel_is_made(task)) {
        /* The step that is to fail was scheduled before, by someone else. */
        struct beside *strand = strand_of(task);
        if (strand) {
            strand->cancelled = true;
            put_keyed(keyed_word(KIND_SEND, aio.task_site), key_in(aio.cancel_space, task), aio.handle_channel, 0);
        }
    }
    Py_XDECREF(pending);
    PyErr_Clear();
    return done;
}

static PyObject *t_set_name_method(PyObject *task, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    PyObject *result = call_original(&t_set_name, task, arguments, count, names);
    struct beside *strand = result && store.active ? table_find(&strands, task) : NULL;
    if (strand && strand->epoch == store.epoch) strand_define(task, strand); /* The last of several definitions holds. */
    return result;
}

static PyObject *future_await(PyObject *future) {
    if (outcome_taken(future)) wait_awaited(future);
    return aio.future_await(future);
}

static PyObject *task_await(PyObject *task) {
    if (outcome_taken(task)) wait_awaited(task);
    return aio.task_await(task);
}

/* The finalizer still needs the strand; until this returns, no other object can have the address. */
static void task_dealloc(PyObject *task) {
    aio.task_dealloc(task);
    strand_forget(task);
    wait_forget(task);
}

static void future_dealloc(PyObject *future) {
    wait_forget(future);
    aio.future_dealloc(future);
}

static void task_finalize(PyObject *task) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    struct beside *strand = store.active ? table_find(&strands, task) : NULL; /* none if it never ran */
    if (strand && strand->epoch == store.epoch && !future_is_done(task)) task_dropped(strand->key);
    PyErr_Restore(type, value, traceback);
    aio.task_finalize(task);
}

/* Does this call of the constructor run the task's first step at once? */
static bool starts_eagerly(PyObject *keywords) {
    PyObject *eager = keywords ? PyDict_GetItemString(keywords, "eager_start") : NULL;
    if (!eager || PyObject_IsTrue(eager) <= 0) return false;
    PyObject *loop = PyDict_GetItemString(keywords, "loop");
    if (!loop || loop == Py_None) return true; /* it is the one that runs */
    PyObject *running = PyObject_CallMethod(loop, "is_running", NULL);
    bool yes = running && PyObject_IsTrue(running) > 0;
    Py_XDECREF(running);
    return yes;
}

/* An eager task: no handle starts it, so its first step is recorded around its construction. */
static int task_init(PyObject *task, PyObject *arguments, PyObject *keywords) {
    static const char unmade[] = "{\"kind\": \"task\", \"name\": \"a task that could not be made\"}";
    bool eager = keywords && store.active && starts_eagerly(keywords);
    if (drop_error() < 0) return -1;
    if (LIKELY(!eager)) return aio.task_init(task, arguments, keywords);
    struct runs *here = runs_here();
    strand_forget(task); /* initialised again */
    struct beside *strand = thread_known() && here && here->depth < MAX_RUNS ? table_add(&strands, task) : NULL;
    if (!strand) return aio.task_init(task, arguments, keywords);
    uint64_t key = strand->key = key_fresh(), cause = key_fresh();
    strand->epoch = store.epoch;
    PyObject *coroutine = PyTuple_GET_SIZE(arguments) ? PyTuple_GET_ITEM(arguments, 0) : PyDict_GetItemString(keywords, "coro");
    PyObject *name = coroutine_name(coroutine); /* may move the table */
    strand = table_find(&strands, task);
    if (strand) strand->coroutine = name;
    else Py_XDECREF(name);
    put_keyed(keyed_word(KIND_SEND, aio.task_site), cause, aio.handle_channel, 0);
    put_keyed_too(keyed_word(KIND_STEP_BEGIN, aio.task_site), key, 0);
    put_keyed_too(keyed_word(KIND_JOIN, aio.task_site), cause, aio.handle_channel);
    here->run[here->depth++] = (struct run){.key = key, .epoch = store.epoch, .task = Py_NewRef(task)};
    int result = aio.task_init(task, arguments, keywords);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    strand = table_find(&strands, task);
    if (result == 0 && strand && strand->epoch == store.epoch) strand_define(task, strand);
    else if (store.active) define(KIND_STRAND, key, unmade, sizeof unmade - 1);
    act_end(NULL, NULL, NULL);
    PyErr_Restore(type, value, traceback);
    return result;
}

/* The two types may share their table of async methods (on 3.11 they do), so each gets one of its own. */
static bool patch_await(PyTypeObject *type, PyAsyncMethods *table, unaryfunc *original, unaryfunc ours) {
    if (!type->tp_as_async || !type->tp_as_async->am_await || type->tp_iter != type->tp_as_async->am_await) {
        PyErr_Format(PyExc_TypeError, "%s is not awaited as it was", type->tp_name);
        return false;
    }
    *original = type->tp_as_async->am_await;
    if (!patch_wrapper(type, "__iter__", ours) || !patch_wrapper(type, "__await__", ours)) return false;
    *table = *type->tp_as_async;
    table->am_await = type->tp_iter = ours;
    type->tp_as_async = table;
    return true;
}

PyObject *core_outcome_taken(PyObject *module, PyObject *future) {
    if ((aio.future && PyObject_TypeCheck(future, aio.future)) || (aio.task && PyObject_TypeCheck(future, aio.task)))
        outcome_taken(future);
    Py_RETURN_NONE;
}

PyObject *core_watch_futures(PyObject *module, PyObject *arguments) {
    PyObject *object;
    unsigned int site;
    if (!PyArg_ParseTuple(arguments, "O!I:watch_futures", &PyType_Type, &object, &site)) return NULL;
    PyTypeObject *type = (PyTypeObject *)object;
    if (aio.futures) Py_RETURN_NONE;
    aio.done = plain_method(type, "done");
    if (!aio.done) return NULL;
    aio.future_site = site;
    aio.futures = true;
    aio.future = (PyTypeObject *)Py_NewRef(object);
    aio.future_dealloc = type->tp_dealloc;
    bool patched = patch_method(type, "set_result", &f_set_result, f_set_result_method) &&
                   patch_method(type, "set_exception", &f_set_exception, f_set_exception_method) &&
                   patch_method(type, "cancel", &f_cancel, f_cancel_method) &&
                   patch_method(type, "result", &f_result, f_result_method) &&
                   patch_method(type, "exception", &f_exception, f_exception_method) &&
                   patch_method(type, "add_done_callback", &f_add_done_callback, f_add_done_callback_method) &&
                   patch_await(type, &aio.future_async, &aio.future_await, future_await);
    type->tp_dealloc = future_dealloc;
    PyType_Modified(type);
    if (!patched) return NULL;
    Py_RETURN_NONE;
}

PyObject *core_watch_tasks(PyObject *module, PyObject *arguments) {
    PyObject *object;
    unsigned int site;
    if (!PyArg_ParseTuple(arguments, "O!I:watch_tasks", &PyType_Type, &object, &site)) return NULL;
    PyTypeObject *type = (PyTypeObject *)object;
    if (aio.tasks) Py_RETURN_NONE;
    aio.get_name = plain_method(type, "get_name");
    aio.get_coro = aio.get_name ? plain_method(type, "get_coro") : NULL;
    if (!aio.get_coro || !aio.done) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "futures come before tasks");
    aio.task_site = site;
    aio.tasks = true;
    aio.task = (PyTypeObject *)Py_NewRef(object);
    aio.task_dealloc = type->tp_dealloc;
    aio.task_init = type->tp_init;
    aio.task_finalize = type->tp_finalize;
    bool patched =
        patch_method(type, "cancel", &t_cancel, t_cancel_method) && patch_method(type, "result", &t_result, t_result_method) &&
        patch_method(type, "exception", &t_exception, t_exception_method) &&
        patch_method(type, "add_done_callback", &t_add_done_callback, t_add_done_callback_method) &&
        patch_method(type, "set_name", &t_set_name, t_set_name_method) &&
        patch_await(type, &aio.task_async, &aio.task_await, task_await) && patch_wrapper(type, "__init__", task_init);
    if (patched) type->tp_init = task_init;
    type->tp_dealloc = task_dealloc;
    if (aio.task_finalize) type->tp_finalize = task_finalize;
    PyType_Modified(type);
    if (!patched) return NULL;
    Py_RETURN_NONE;
}
