/* asyncio in C: handles that are made and run, tasks' strands, outcomes of futures.
 *
 * The C types `_asyncio.Future` and `_asyncio.Task` are patched in place: they stay the types that the program and asyncio's own
 * fast paths know, and methods keep their names, signatures and documentation. What a task needs (its strand) is kept
 * beside it, in a table that forgets the task when it is deallocated. Invariants: everything runs with the GIL held; no
 * Python code of the program's runs while a record is stored; whatever fails here is dropped, and the call goes on. */

#ifndef CLEW_TASKS_H
#define CLEW_TASKS_H

#include <structmember.h>

#include "operands.h"

static size_t json_escape(char *out, size_t room, const char *text, size_t length); /* core.c */

#define MAX_RUNS 64u

static struct {
    bool handles, futures, tasks;    /* what has been hooked */
    uint32_t handle_channel, future_channel;
    uint64_t run_site, future_site, task_site;
    uint32_t handle_space, outcome_space, cancel_space;
    Py_ssize_t callback, arguments;  /* offsets of `Handle._callback` and `_args` */
    PyTypeObject *handle;            /* Owned, like all below */
    PyTypeObject *future, *task;     /* NULL where asyncio has no C part */
    PyObject *collectors;            /* list of the code and the functions that count down; compared by identity */
    PyObject *python_steps;          /* the same of the functions that are steps of a task written in Python */
    PyObject *foreign;               /* strand_of(task) -> int, of a task that is not of the C type */
    PyCFunction done, get_name, get_coro; /* of the C types, called without a lookup */
    PyTypeObject *step;              /* Borrowed: the type of a callback that steps a task, once one was seen */
    Py_ssize_t step_task;            /* offset of the task in it */
    const PyMethodDef *wakeup;       /* Borrowed: of the builtin that wakes a task, once one was seen */
    destructor task_dealloc;
    initproc task_init;
    unaryfunc future_await, task_await;
    PyAsyncMethods future_async, task_async;
} aio;

/* One run of a handle under way on a thread. */
struct run {
    uint64_t key;    /* of its strand or scope; 0 when its beginning was not recorded */
    uint64_t count;  /* key of what its callback counts down, or 0 */
    uint64_t epoch;  /* the recording that it began in */
    PyObject *task;  /* Owned; NULL for a scope */
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

/* ---- The strands of tasks ---- */

static struct table strands; /* of tasks of the C type; an entry's key is the strand's */

static void strand_forget(const PyObject *task) {
    Py_XDECREF(table_forget(&strands, task).coroutine);
}

static void strand_define(PyObject *task, const struct beside *strand) {
    char name[256], coroutine[256], text[640];
    size_t lengths[2] = {0, 0};
    PyObject *names[2] = {aio.get_name(task, NULL), Py_XNewRef(strand->coroutine)};
    for (int i = 0; i < 2; i++) {
        Py_ssize_t bytes;
        const char *utf8 = names[i] && PyUnicode_Check(names[i]) ? PyUnicode_AsUTF8AndSize(names[i], &bytes) : NULL;
        if (utf8)
            lengths[i] = json_escape(i ? coroutine : name, sizeof name, utf8, (size_t)bytes);
        Py_XDECREF(names[i]);
    }
    PyErr_Clear();
    int written = snprintf(text, sizeof text,
                           "{\"kind\": \"task\", \"name\": \"%.*s\", \"thread\": %u, \"coroutine\": \"%.*s\"}",
                           (int)lengths[0], name, self.serial, (int)lengths[1], coroutine);
    define(KIND_STRAND, strand->key, text, (size_t)written);
}

/* The qualified name of a coroutine's function, or of the type of what a task runs instead. */
static PyObject *coroutine_name(PyObject *coroutine) {
    PyObject *name = NULL;
    if (coroutine && (PyCoro_CheckExact(coroutine) || PyGen_CheckExact(coroutine)))
        name = PyObject_GetAttrString(coroutine, "__qualname__");
    else if (coroutine)
        name = PyType_GetQualName(Py_TYPE(coroutine));
    PyErr_Clear();
    return name;
}

/* A strand for the task, anew in every recording. */
static COLD struct beside *strand_begin(PyObject *task) {
    if (!thread_known())
        return NULL;
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

/* ---- Which callbacks step a task, and which count down ---- */

static bool is_listed(PyObject *list, PyObject *object) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) == object)
            return true;
    return false;
}

/* Learns where a step's callback keeps its task. */
static COLD void learn_step(PyObject *callback) {
    PyTypeObject *type = Py_TYPE(callback);
    const char *dot = strrchr(type->tp_name, '.');
    if (strcmp(dot ? dot + 1 : type->tp_name, "TaskStepMethWrapper"))
        return;
    PyObject *task = PyObject_GetAttrString(callback, "__self__");
    Py_ssize_t size = (Py_ssize_t)sizeof(PyObject);
    while (task && size < type->tp_basicsize && *(PyObject **)((char *)callback + size) != task)
        size += (Py_ssize_t)sizeof(PyObject *);
    if (task && size < type->tp_basicsize) {
        aio.step_task = size;
        aio.step = type;
    }
    Py_XDECREF(task);
    PyErr_Clear();
}

static COLD bool learn_wakeup(PyObject *callback) {
    const PyMethodDef *found = ((PyCFunctionObject *)callback)->m_ml;
    if (strcmp(found->ml_name, "task_wakeup") || !aio.task)
        return false;
    PyObject *task = PyCFunction_GET_SELF(callback);
    if (!task || !PyObject_TypeCheck(task, aio.task))
        return false;
    aio.wakeup = found;
    return true;
}

/* The task whose step `callback` is, Borrowed, else NULL. That a callback is bound to a task is not enough: `task.cancel`
 * is, too. */
static inline PyObject *task_of_step(PyObject *callback, bool *wakes) {
    PyTypeObject *type = Py_TYPE(callback);
    *wakes = false;
    if (LIKELY(type == aio.step))
        return *(PyObject **)((char *)callback + aio.step_task);
    if (type == &PyCFunction_Type) {
        if (((PyCFunctionObject *)callback)->m_ml != aio.wakeup && !(!aio.wakeup && learn_wakeup(callback)))
            return NULL;
        *wakes = true;
        return PyCFunction_GET_SELF(callback);
    }
    if (type == &PyFunction_Type)
        return NULL;
    if (type == &PyMethod_Type)
        return is_listed(aio.python_steps, PyMethod_GET_FUNCTION(callback)) ? PyMethod_GET_SELF(callback) : NULL;
    if (!aio.step) {
        learn_step(callback);
        if (type == aio.step)
            return *(PyObject **)((char *)callback + aio.step_task);
    }
    return NULL;
}

/* The key of what a callback counts down, 0 of one that does not count; `counted` when it was counted before. It is kept
 * in the collector: the address of one that is gone may be the next one's. */
static uint64_t count_of(PyObject *callback, bool *counted) {
    PyObject *collector = NULL;
    *counted = false;
    if (PyFunction_Check(callback) && is_listed(aio.collectors, PyFunction_GET_CODE(callback)))
        collector = callback;
    else if (PyMethod_Check(callback) && is_listed(aio.collectors, PyMethod_GET_FUNCTION(callback)))
        collector = PyMethod_GET_SELF(callback);
    if (!collector)
        return 0;
    PyObject *own = PyObject_GenericGetDict(collector, NULL);
    PyObject *key = own && PyDict_Check(own) ? PyDict_GetItemString(own, "_clew_count") : NULL;
    uint64_t count = 0;
    if (key) {
        count = PyLong_AsUnsignedLongLongMask(key);
        *counted = true;
    } else if (own && PyDict_Check(own)) {
        count = key_fresh();
        key = PyLong_FromUnsignedLongLong(count);
        if (!key || PyDict_SetItemString(own, "_clew_count", key) < 0)
            count = 0;
        Py_XDECREF(key);
    }
    Py_XDECREF(own);
    PyErr_Clear();
    return count;
}

/* ---- Handles ---- */

static inline bool is_native(PyObject *task) { return aio.task && PyObject_TypeCheck(task, aio.task); }

static bool task_is_done(PyObject *task) {
    PyObject *done = is_native(task) ? aio.done(task, NULL) : PyObject_CallMethod(task, "done", NULL);
    bool yes = done == Py_True;
    Py_XDECREF(done);
    PyErr_Clear();
    return yes;
}

/* The outcome of a task is known by its strand's number: its address may be the next one's. */
static inline uint64_t outcome_of_strand(uint64_t strand) { return strand ^ keys.base[aio.outcome_space]; }

static int begin_foreign(struct run *run, PyObject *task) {
    PyObject *strand = PyObject_CallOneArg(aio.foreign, task);
    run->key = strand ? PyLong_AsUnsignedLongLongMask(strand) : 0;
    Py_XDECREF(strand);
    return drop_error();
}

static void begin_scope(struct run *run, PyObject *handle, PyObject *callback) {
    bool counted = false;
    run->key = key_in(aio.handle_space, handle);
    put_keyed(keyed_word(KIND_SCOPE_BEGIN, aio.run_site), run->key, aio.handle_channel, 0);
    run->count = callback ? count_of(callback, &counted) : 0;
    if (counted)
        put_keyed(keyed_word(KIND_JOIN, aio.run_site), run->count, aio.future_channel, 0);
}

static int act_begin(struct operand *operand, PyObject *handle, PyObject *other) {
    struct runs *here = runs_here();
    if (!here || here->depth++ >= MAX_RUNS)
        return 0;
    struct run *run = &here->run[here->depth - 1];
    run->key = 0;
    run->task = NULL;
    if (UNLIKELY(!store.active || !PyObject_TypeCheck(handle, aio.handle)))
        return 0;
    run->epoch = store.epoch;
    run->count = 0;
    bool wakes;
    PyObject *callback = *(PyObject **)((char *)handle + aio.callback);
    PyObject *task = callback ? task_of_step(callback, &wakes) : NULL;
    if (!task) {
        begin_scope(run, handle, callback);
        return 0;
    }
    bool cancelled = false;
    if (LIKELY(is_native(task))) {
        struct beside *strand = strand_of(task);
        if (strand) {
            run->key = strand->key;
            cancelled = strand->cancelled;
            strand->cancelled = false;
        }
    } else if (begin_foreign(run, task) < 0) {
        return -1;
    }
    if (!run->key)
        return 0;
    run->task = Py_NewRef(task);
    put_keyed(keyed_word(KIND_STEP_BEGIN, aio.run_site), run->key, 0, 0);
    put_keyed(keyed_word(KIND_JOIN, aio.run_site), key_in(aio.handle_space, handle), aio.handle_channel, 0);
    if (UNLIKELY(cancelled))
        put_keyed(keyed_word(KIND_JOIN, aio.run_site), key_in(aio.cancel_space, task), aio.handle_channel, 0);
    here->waking = NULL;
    if (wakes) {
        PyObject *arguments = *(PyObject **)((char *)handle + aio.arguments);
        if (arguments && PyTuple_CheckExact(arguments) && PyTuple_GET_SIZE(arguments) == 1)
            here->waking = PyTuple_GET_ITEM(arguments, 0);
    }
    return 0;
}

static void run_end(struct run *run) {
    if (run->key && run->epoch == store.epoch) {
        if (!run->task) {
            if (run->count)
                put_keyed(keyed_word(KIND_SEND, aio.run_site), run->count, aio.future_channel, 0);
            put_keyed(keyed_word(KIND_SCOPE_END, aio.run_site), run->key, aio.handle_channel, 0);
        } else {
            if (task_is_done(run->task))
                put_keyed(keyed_word(KIND_SEND, aio.run_site), outcome_of_strand(run->key), aio.future_channel, 0);
            if (UNLIKELY(flows.on)) /* whose flow the strand's next step goes on with */
                put_keyed(keyed_word(KIND_STEP_END, aio.run_site), run->key, 0, 0);
            else
                put(pack_word(KIND_STEP_END, aio.run_site, 0, 0)); /* of the innermost step: it needs no key */
        }
    }
    Py_CLEAR(run->task);
}

static int act_end(struct operand *operand, PyObject *object, PyObject *other) {
    struct runs *here = runs;
    if (here && here->depth && here->depth-- <= MAX_RUNS)
        run_end(&here->run[here->depth]);
    return 0;
}

static Py_ssize_t slot_offset(PyObject *type, const char *name) {
    PyObject *slot = PyObject_GetAttrString(type, name);
    Py_ssize_t offset = -1;
    if (slot && Py_IS_TYPE(slot, &PyMemberDescr_Type))
        offset = ((PyMemberDescrObject *)slot)->d_member->offset;
    else
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", type, name);
    Py_XDECREF(slot);
    return offset;
}

/* watch_handles(handle_class, made_site, run_site, handle_channel, future_channel, collectors, python_steps, foreign) */
static PyObject *core_watch_handles(PyObject *module, PyObject *arguments) {
    PyObject *type, *collectors, *steps, *foreign;
    unsigned int made_site, run_site, handle_channel, future_channel;
    if (!PyArg_ParseTuple(arguments, "O!IIIIO!O!O:watch_handles", &PyType_Type, &type, &made_site, &run_site,
                          &handle_channel, &future_channel, &PyList_Type, &collectors, &PyList_Type, &steps, &foreign))
        return NULL;
    Py_ssize_t callback = slot_offset(type, "_callback"), args = callback < 0 ? -1 : slot_offset(type, "_args");
    if (args < 0)
        return NULL;
    if (!aio.handles) {
        aio.handle_space = space_new();
        aio.outcome_space = space_new();
        aio.cancel_space = space_new();
    }
    aio.callback = callback;
    aio.arguments = args;
    aio.handle_channel = handle_channel;
    aio.future_channel = future_channel;
    aio.run_site = run_site;
    Py_XSETREF(aio.handle, (PyTypeObject *)Py_NewRef(type));
    Py_XSETREF(aio.collectors, Py_NewRef(collectors));
    Py_XSETREF(aio.python_steps, Py_NewRef(steps));
    Py_XSETREF(aio.foreign, Py_NewRef(foreign));
    aio.handles = true;
    return Py_BuildValue("NNN", operand_make(act_put, keyed_word(KIND_SEND, made_site), handle_channel, aio.handle_space),
                         operand_make(act_begin, 0, 0, 0), operand_make(act_end, 0, 0, 0));
}

/* ---- Futures and tasks ---- */

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

static inline void outcome_taken(PyObject *future) {
    if (!store.active)
        return;
    /* A task that wakes up asks for the result, too; the handle has already told what woke it. */
    if (runs && runs->waking) {
        bool wakes = runs->waking == future && Py_TYPE(future) != aio.future && Py_TYPE(future) != aio.task;
        runs->waking = NULL;
        if (wakes)
            return;
    }
    if (!future_is_done(future))
        return;
    if (!is_native(future)) {
        put_keyed(keyed_word(KIND_JOIN, aio.future_site), key_in(aio.outcome_space, future), aio.future_channel, 0);
        return;
    }
    struct beside *strand = table_find(&strands, future);
    if (strand && strand->epoch == store.epoch)
        put_keyed(keyed_word(KIND_JOIN, aio.task_site), outcome_of_strand(strand->key), aio.future_channel, 0);
}

#define SETTING(name)                                                                                                  \
    static PyObject *name##_method(PyObject *object, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {  \
        outcome_set(object);                                                                                           \
        return call_original(&name, object, arguments, count, names);                                                  \
    }
#define TAKING(name)                                                                                                   \
    static PyObject *name##_method(PyObject *object, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {  \
        outcome_taken(object);                                                                                         \
        return call_original(&name, object, arguments, count, names);                                                  \
    }
SETTING(f_set_result)
SETTING(f_set_exception)
SETTING(f_cancel)
TAKING(f_result)
TAKING(f_exception)
TAKING(t_result)
TAKING(t_exception)

/* A callback for what is done already is scheduled by whoever adds it, but its run depends on the outcome, too: so the
 * handle is made in a small scope of its own, and the caller depends on nothing. */
static PyObject *add_done_callback(const struct patched *patched, PyObject *future, PyObject *const *arguments,
                                   Py_ssize_t count, PyObject *names) {
    if (!store.active || !future_is_done(future))
        return call_original(patched, future, arguments, count, names);
    uint64_t key = key_fresh(), epoch = store.epoch;
    put_keyed(keyed_word(KIND_SEND, aio.future_site), key, aio.future_channel, 0);
    put_keyed(keyed_word(KIND_SCOPE_BEGIN, aio.future_site), key, aio.future_channel, 0);
    outcome_taken(future);
    PyObject *result = call_original(patched, future, arguments, count, names);
    if (store.active && store.epoch == epoch)
        put_keyed(keyed_word(KIND_SCOPE_END, aio.future_site), key, aio.future_channel, 0);
    return result;
}

static PyObject *f_add_done_callback_method(PyObject *future, PyObject *const *arguments, Py_ssize_t count,
                                            PyObject *names) {
    return add_done_callback(&f_add_done_callback, future, arguments, count, names);
}

static PyObject *t_add_done_callback_method(PyObject *task, PyObject *const *arguments, Py_ssize_t count,
                                            PyObject *names) {
    return add_done_callback(&t_add_done_callback, task, arguments, count, names);
}

static PyObject *t_cancel_method(PyObject *task, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    PyObject *done = call_original(&t_cancel, task, arguments, count, names);
    if (done != Py_True || !store.active)
        return done;
    PyObject *pending = PyObject_GetAttrString(task, "_must_cancel");
    if (pending == Py_True) {
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
    if (strand && strand->epoch == store.epoch)
        strand_define(task, strand); /* Of several definitions the last one holds. */
    return result;
}

static PyObject *future_await(PyObject *future) {
    outcome_taken(future);
    return aio.future_await(future);
}

static PyObject *task_await(PyObject *task) {
    outcome_taken(task);
    return aio.task_await(task);
}

static void task_dealloc(PyObject *task) {
    strand_forget(task);
    aio.task_dealloc(task);
}

/* Does this call of the constructor run the task's first step at once? */
static bool starts_eagerly(PyObject *keywords) {
    PyObject *eager = keywords ? PyDict_GetItemString(keywords, "eager_start") : NULL;
    if (!eager || PyObject_IsTrue(eager) <= 0)
        return false;
    PyObject *loop = PyDict_GetItemString(keywords, "loop");
    if (!loop || loop == Py_None)
        return true; /* it is the one that runs */
    PyObject *running = PyObject_CallMethod(loop, "is_running", NULL);
    bool yes = running && PyObject_IsTrue(running) > 0;
    Py_XDECREF(running);
    return yes;
}

/* An eager task: no handle starts it, so its first step is recorded around its construction. */
static int task_init(PyObject *task, PyObject *arguments, PyObject *keywords) {
    static const char unmade[] = "{\"kind\": \"task\", \"name\": \"a task that could not be made\"}";
    bool eager = keywords && store.active && starts_eagerly(keywords);
    if (drop_error() < 0)
        return -1;
    if (LIKELY(!eager))
        return aio.task_init(task, arguments, keywords);
    struct runs *here = runs_here();
    strand_forget(task); /* initialised again */
    struct beside *strand = thread_known() && here && here->depth < MAX_RUNS ? table_add(&strands, task) : NULL;
    if (!strand)
        return aio.task_init(task, arguments, keywords);
    uint64_t key = strand->key = key_fresh(), cause = key_fresh();
    strand->epoch = store.epoch;
    PyObject *coroutine = PyTuple_GET_SIZE(arguments) ? PyTuple_GET_ITEM(arguments, 0)
                                                      : PyDict_GetItemString(keywords, "coro");
    PyObject *name = coroutine_name(coroutine); /* may move the table */
    strand = table_find(&strands, task);
    if (strand)
        strand->coroutine = name;
    else
        Py_XDECREF(name);
    put_keyed(keyed_word(KIND_SEND, aio.task_site), cause, aio.handle_channel, 0);
    put_keyed(keyed_word(KIND_STEP_BEGIN, aio.task_site), key, 0, 0);
    put_keyed(keyed_word(KIND_JOIN, aio.task_site), cause, aio.handle_channel, 0);
    here->run[here->depth++] = (struct run){.key = key, .epoch = store.epoch, .task = Py_NewRef(task)};
    int result = aio.task_init(task, arguments, keywords);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    strand = table_find(&strands, task);
    if (result == 0 && strand && strand->epoch == store.epoch)
        strand_define(task, strand);
    else if (store.active)
        define(KIND_STRAND, key, unmade, sizeof unmade - 1);
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
    if (!patch_wrapper(type, "__iter__", ours) || !patch_wrapper(type, "__await__", ours))
        return false;
    *table = *type->tp_as_async;
    table->am_await = type->tp_iter = ours;
    type->tp_as_async = table;
    return true;
}

/* watch_futures(future, site): the C type. */
static PyObject *core_watch_futures(PyObject *module, PyObject *arguments) {
    PyObject *object;
    unsigned int site;
    if (!PyArg_ParseTuple(arguments, "O!I:watch_futures", &PyType_Type, &object, &site))
        return NULL;
    PyTypeObject *type = (PyTypeObject *)object;
    if (aio.futures)
        Py_RETURN_NONE;
    aio.done = plain_method(type, "done");
    if (!aio.done)
        return NULL;
    aio.future_site = site;
    aio.futures = true;
    aio.future = (PyTypeObject *)Py_NewRef(object);
    bool patched = patch_method(type, "set_result", &f_set_result, f_set_result_method) &&
                   patch_method(type, "set_exception", &f_set_exception, f_set_exception_method) &&
                   patch_method(type, "cancel", &f_cancel, f_cancel_method) &&
                   patch_method(type, "result", &f_result, f_result_method) &&
                   patch_method(type, "exception", &f_exception, f_exception_method) &&
                   patch_method(type, "add_done_callback", &f_add_done_callback, f_add_done_callback_method) &&
                   patch_await(type, &aio.future_async, &aio.future_await, future_await);
    PyType_Modified(type);
    if (!patched)
        return NULL;
    Py_RETURN_NONE;
}

/* watch_tasks(task, site): the C type. */
static PyObject *core_watch_tasks(PyObject *module, PyObject *arguments) {
    PyObject *object;
    unsigned int site;
    if (!PyArg_ParseTuple(arguments, "O!I:watch_tasks", &PyType_Type, &object, &site))
        return NULL;
    PyTypeObject *type = (PyTypeObject *)object;
    if (aio.tasks)
        Py_RETURN_NONE;
    aio.get_name = plain_method(type, "get_name");
    aio.get_coro = aio.get_name ? plain_method(type, "get_coro") : NULL;
    if (!aio.get_coro || !aio.done)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "futures come before tasks");
    aio.task_site = site;
    aio.tasks = true;
    aio.task = (PyTypeObject *)Py_NewRef(object);
    aio.task_dealloc = type->tp_dealloc;
    aio.task_init = type->tp_init;
    bool patched = patch_method(type, "cancel", &t_cancel, t_cancel_method) &&
                   patch_method(type, "result", &t_result, t_result_method) &&
                   patch_method(type, "exception", &t_exception, t_exception_method) &&
                   patch_method(type, "add_done_callback", &t_add_done_callback, t_add_done_callback_method) &&
                   patch_method(type, "set_name", &t_set_name, t_set_name_method) &&
                   patch_await(type, &aio.task_async, &aio.task_await, task_await) && patch_wrapper(type, "__init__", task_init);
    if (patched)
        type->tp_init = task_init;
    type->tp_dealloc = task_dealloc;
    PyType_Modified(type);
    if (!patched)
        return NULL;
    Py_RETURN_NONE;
}

#endif
