#include "asyncio/handles.h"

#include <string.h>

#include "asyncio/task_waits.h"
#include "store/records.h"
#include "store/sampling.h"
#include "store/store.h"
#include "trace_format.h"

/* ---- Which callbacks step a task, and which count down ---- */

static bool is_listed(PyObject *list, PyObject *object) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) == object) return true;
    return false;
}

/* Learns where a step's callback keeps its task. */
static COLD void learn_step(PyObject *callback) {
    PyTypeObject *type = Py_TYPE(callback);
    const char *dot = strrchr(type->tp_name, '.');
    if (strcmp(dot ? dot + 1 : type->tp_name, "TaskStepMethWrapper")) return;
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
    if (strcmp(found->ml_name, "task_wakeup") || !aio.task) return false;
    PyObject *task = PyCFunction_GET_SELF(callback);
    if (!task || !PyObject_TypeCheck(task, aio.task)) return false;
    aio.wakeup = found;
    return true;
}

/* The task whose step `callback` is, Borrowed, else NULL. That a callback is bound to a task is not enough: `task.cancel`
 * is, too. */
static inline PyObject *task_of_step(PyObject *callback, bool *wakes) {
    PyTypeObject *type = Py_TYPE(callback);
    *wakes = false;
    if (LIKELY(type == aio.step)) return *(PyObject **)((char *)callback + aio.step_task);
    if (type == &PyCFunction_Type) {
        if (((PyCFunctionObject *)callback)->m_ml != aio.wakeup && !(!aio.wakeup && learn_wakeup(callback))) return NULL;
        *wakes = true;
        return PyCFunction_GET_SELF(callback);
    }
    if (type == &PyFunction_Type) return NULL;
    if (type == &PyMethod_Type)
        return is_listed(aio.python_steps, PyMethod_GET_FUNCTION(callback)) ? PyMethod_GET_SELF(callback) : NULL;
    if (!aio.step) {
        learn_step(callback);
        if (type == aio.step) return *(PyObject **)((char *)callback + aio.step_task);
    }
    return NULL;
}

/* The key of what a callback counts down, 0 of one that does not count; `counted` when it was counted before. It is kept
 * in the collector: the address of one that is gone may be the next one's. */
static uint64_t count_of(PyObject *callback, bool *counted) {
    PyObject *collector = NULL;
    *counted = false;
    if (PyFunction_Check(callback) && is_listed(aio.collectors, PyFunction_GET_CODE(callback))) collector = callback;
    else if (PyMethod_Check(callback) && is_listed(aio.collectors, PyMethod_GET_FUNCTION(callback)))
        collector = PyMethod_GET_SELF(callback);
    if (!collector) return 0;
    PyObject *own = PyObject_GenericGetDict(collector, NULL);
    PyObject *key = own && PyDict_Check(own) ? PyDict_GetItemString(own, "_clew_count") : NULL;
    uint64_t count = 0;
    if (key) {
        count = PyLong_AsUnsignedLongLongMask(key);
        *counted = true;
    } else if (own && PyDict_Check(own)) {
        count = key_fresh();
        key = PyLong_FromUnsignedLongLong(count);
        if (!key || PyDict_SetItemString(own, "_clew_count", key) < 0) count = 0;
        Py_XDECREF(key);
    }
    Py_XDECREF(own);
    PyErr_Clear();
    return count;
}

static bool task_is_done(PyObject *task) {
    PyObject *done = is_native(task) ? aio.done(task, NULL) : PyObject_CallMethod(task, "done", NULL);
    bool yes = done == Py_True;
    Py_XDECREF(done);
    PyErr_Clear();
    return yes;
}

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
    if (counted) put_keyed(keyed_word(KIND_JOIN, aio.run_site), run->count, aio.future_channel, 0);
}

static int act_begin(struct operand *operand, PyObject *handle, PyObject *other) {
    struct runs *here = runs_here();
    if (!here || here->depth++ >= MAX_RUNS) return 0;
    struct run *run = &here->run[here->depth - 1];
    run->key = 0;
    run->task = NULL;
    run->timer = false;
    if (UNLIKELY(!store.active || !PyObject_TypeCheck(handle, aio.handle))) return 0;
    run->epoch = store.epoch;
    run->count = 0;
    bool wakes;
    PyObject *callback = *(PyObject **)((char *)handle + aio.callback);
    PyObject *task = callback ? task_of_step(callback, &wakes) : NULL;
    if (!task) {
        run->timer = Py_IS_TYPE(handle, aio.timer);
        begin_scope(run, handle, callback);
        return 0;
    }
    bool cancelled = false;
    struct beside was = {.channel = 0};
    if (LIKELY(is_native(task))) {
        struct beside *strand = strand_of(task);
        if (strand) {
            run->key = strand->key;
            cancelled = strand->cancelled;
            strand->cancelled = false;
            if (strand->channel) was = *strand;
        }
    } else if (begin_foreign(run, task) < 0) {
        return -1;
    }
    if (!run->key) return 0;
    run->task = Py_NewRef(task);
    put_keyed(keyed_word(KIND_STEP_BEGIN, aio.run_site), run->key, 0, 0);
    put_keyed_too(keyed_word(KIND_JOIN, aio.run_site), key_in(aio.handle_space, handle), aio.handle_channel);
    if (UNLIKELY(cancelled))
        put_keyed_too(keyed_word(KIND_JOIN, aio.run_site), key_in(aio.cancel_space, task), aio.handle_channel);
    here->waking = NULL;
    if (wakes) {
        PyObject *arguments = *(PyObject **)((char *)handle + aio.arguments);
        if (arguments && PyTuple_CheckExact(arguments) && PyTuple_GET_SIZE(arguments) == 1)
            here->waking = PyTuple_GET_ITEM(arguments, 0);
    }
    if (was.channel) task_wait_end(task, &was, here->waking);
    return 0;
}

static void run_end(struct run *run) {
    if (run->key && run->epoch == store.epoch) {
        if (!run->task) {
            if (run->count) put_keyed(keyed_word(KIND_SEND, aio.run_site), run->count, aio.future_channel, 0);
            put_keyed(keyed_word(KIND_SCOPE_END, aio.run_site), run->key, aio.handle_channel, 0);
        } else {
            if (task_is_done(run->task)) {
                put_keyed(keyed_word(KIND_SEND, aio.run_site), outcome_of_strand(run->key), aio.future_channel, 0);
                if (is_native(run->task)) task_ended(run->task, run->key);
            } else if (is_native(run->task)) {
                task_wait_begin(run->task);
            }
            if (UNLIKELY(flows.on)) /* whose flow the strand's next step continues */
                put_keyed(keyed_word(KIND_STEP_END, aio.run_site), run->key, 0, 0);
            else put(pack_word(KIND_STEP_END, aio.run_site, 0, 0)); /* of the innermost step: it needs no key */
        }
    }
    Py_CLEAR(run->task);
}

int act_end(struct operand *operand, PyObject *object, PyObject *other) {
    struct runs *here = runs;
    if (here && here->depth && here->depth-- <= MAX_RUNS) run_end(&here->run[here->depth]);
    return 0;
}

static Py_ssize_t slot_offset(PyObject *type, const char *name) {
    PyObject *slot = PyObject_GetAttrString(type, name);
    Py_ssize_t offset = -1;
    if (slot && Py_IS_TYPE(slot, &PyMemberDescr_Type)) offset = ((PyMemberDescrObject *)slot)->d_member->offset;
    else PyErr_Format(PyExc_TypeError, "%R has no slot %s", type, name);
    Py_XDECREF(slot);
    return offset;
}

PyObject *core_watch_handles(PyObject *module, PyObject *arguments) {
    PyObject *type, *collectors, *steps, *foreign;
    unsigned int made_site, run_site, handle_channel, future_channel;
    if (!PyArg_ParseTuple(arguments, "O!IIIIO!O!O:watch_handles", &PyType_Type, &type, &made_site, &run_site, &handle_channel,
                          &future_channel, &PyList_Type, &collectors, &PyList_Type, &steps, &foreign))
        return NULL;
    Py_ssize_t callback = slot_offset(type, "_callback"), args = callback < 0 ? -1 : slot_offset(type, "_args");
    if (args < 0) return NULL;
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
