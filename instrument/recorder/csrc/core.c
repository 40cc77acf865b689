/* The C recorder: stores records in a file-backed shared mapping. This file is the Python interface; see
 * `_core.pyi`.
 *
 * trace_format.h defines the file format. store/ implements the file, its chunks, the records and their sampling,
 * and the lifecycles of threads and files. calls/ implements probes, their cost limits and the counting of calls.
 * hooks/ implements the objects that adapters put into the standard library and its C types; asyncio/, locks/,
 * queues/, streams/ and callbacks/ use it. Headers define the functions that store a record, so that the compiler
 * inlines the whole path of a probe.
 *
 * Invariants: this code never runs Python code while a record is stored; an operation of a traced program on a probe
 * never raises. All code except thread ends and fork handlers runs with the GIL held. */
#include "core.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asyncio/cancels.h"
#include "asyncio/handles.h"
#include "asyncio/strands.h"
#include "asyncio/task_waits.h"
#include "asyncio/tasks.h"
#include "callbacks/contexts.h"
#include "callbacks/garbage_collector.h"
#include "callbacks/signals.h"
#include "calls/budget.h"
#include "calls/probes.h"
#include "facts/exceptions.h"
#include "facts/object_identity.h"
#include "facts/outputs.h"
#include "facts/stack.h"
#include "facts/waits.h"
#include "hooks/observed_attribute.h"
#include "hooks/operands.h"
#include "hooks/writes.h"
#include "locks/locks.h"
#include "locks/process_locks.h"
#include "queues/queues.h"
#include "queues/simple_queues.h"
#include "store/clock.h"
#include "store/lifecycle.h"
#include "store/pauses.h"
#include "store/records.h"
#include "store/sampling.h"
#include "store/store.h"
#include "store/thread_definition.h"
#include "streams/byte_offsets.h"
#include "streams/watched_streams.h"
#include "trace_format.h"

#define ATTEMPTS 3

static PyObject *core_start(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"path", "info", "parent_uid", "quota", "budget", "keep_newest", NULL};
    PyObject *path = NULL;
    Py_buffer info;
    unsigned long long parent_uid, quota;
    double share;
    int keep_newest = false;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&y*KKd|p:start", names, PyUnicode_FSConverter, &path, &info,
                                     &parent_uid, &quota, &share, &keep_newest))
        return NULL;
    int error = EBUSY;
    if (info.len > INFO_MAX) {
        error = EMSGSIZE;
    } else if (!store.active) {
        store_unmap_header();
        find_python_threads();
        error = store_open(PyBytes_AS_STRING(path), info.buf, (uint32_t)info.len, parent_uid, quota, keep_newest);
        if (!error) budget_start(share);
    }
    PyBuffer_Release(&info);
    if (error) {
        errno = error;
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, PyBytes_AS_STRING(path));
    }
    Py_DECREF(path);
    if (error) return NULL;
    Py_RETURN_NONE;
}

static PyObject *core_stop(PyObject *module, PyObject *ignored) {
    if (store.active) store_finish(STATE_CLOSED);
    if (store.header) {
        store_unmap_header();
        store_new_uid();
    }
    Py_RETURN_NONE;
}

static PyObject *core_active(PyObject *module, PyObject *ignored) { return PyBool_FromLong(store.active); }

static PyObject *core_uid(PyObject *module, PyObject *ignored) { return PyLong_FromUnsignedLongLong(store.uid); }

static PyObject *core_problem(PyObject *module, PyObject *ignored) { return PyUnicode_DecodeFSDefault(store.problem); }

static PyObject *core_thread(PyObject *module, PyObject *ignored) {
    return PyLong_FromUnsignedLong(thread_known() ? self.serial : 0);
}

static PyObject *core_calibrate(PyObject *module, PyObject *ignored) { return PyFloat_FromDouble(calibrate()); }

static PyObject *core_emitted(PyObject *module, PyObject *ignored) { return PyLong_FromUnsignedLong(self.emitted); }

static PyObject *core_book(PyObject *module, PyObject *arguments) {
    double ns, emitted;
    if (!PyArg_ParseTuple(arguments, "dd:book", &ns, &emitted)) return NULL;
    return PyBool_FromLong(store.active && actions_booked(ns, emitted));
}

static PyObject *core_pretend(PyObject *module, PyObject *arguments) {
    unsigned long long clock;
    double cost;
    if (!PyArg_ParseTuple(arguments, "Kd:pretend", &clock, &cost)) return NULL;
    budget_pretend(clock, cost);
    Py_RETURN_NONE;
}

static PyObject *core_sample(PyObject *module, PyObject *share) {
    double number = PyFloat_AsDouble(share);
    if (number == -1.0 && PyErr_Occurred()) return NULL;
    flows_start(number);
    Py_RETURN_NONE;
}

static PyObject *core_flow(PyObject *module, PyObject *ignored) { return PyLong_FromLong(self.flow.state); }

static PyObject *core_flows(PyObject *module, PyObject *ignored) {
    return Py_BuildValue("KK", (unsigned long long)flows.kept, (unsigned long long)flows.dropped);
}

static PyObject *core_flow_key(PyObject *module, PyObject *key) {
    unsigned long long number = PyLong_AsUnsignedLongLongMask(key);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(flow_mark(number));
}

static PyObject *core_flow_known(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "flow_known() takes a key and a state");
    unsigned long long key = PyLong_AsUnsignedLongLongMask(arguments[0]);
    long state = PyLong_AsLong(arguments[1]);
    if (PyErr_Occurred()) return NULL;
    if (flows.on && state >= FLOW_NONE && state <= FLOW_DROPPED) flow_send(key, (unsigned)state);
    Py_RETURN_NONE;
}

/* An int of any size as 64 bits; all bits set and an error for any other object. */
static uint64_t as_u64(PyObject *value) { return PyLong_AsUnsignedLongLongMask(value); }

static PyObject *core_emit(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    static const char *const known[] = {"kind", "site", "key", "channel", "text", "flags"};
    PyObject *values[6] = {NULL};
    if (count > 6) return PyErr_Format(PyExc_TypeError, "emit() takes at most 6 arguments (%zd given)", count);
    for (Py_ssize_t i = 0; i < count; i++) values[i] = arguments[i];
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int place = 0;
        while (place < 6 && PyUnicode_CompareWithASCIIString(name, known[place])) place++;
        if (place == 6 || values[place])
            return PyErr_Format(PyExc_TypeError, "emit() got an unexpected or repeated argument %R", name);
        values[place] = arguments[count + i];
    }
    if (!values[0] || !values[1] || !values[2]) return PyErr_Format(PyExc_TypeError, "emit() needs kind, site and key");
    char *text = "";
    Py_ssize_t length = 0;
    if (values[4] && PyBytes_AsStringAndSize(values[4], &text, &length)) return NULL;
    uint64_t kind = as_u64(values[0]), site = as_u64(values[1]), key = as_u64(values[2]);
    uint64_t channel = values[3] ? as_u64(values[3]) : 0, flags = values[5] ? as_u64(values[5]) : 0;
    if (PyErr_Occurred()) return NULL;
    put_extended(kind & 0xFF, site & UINT32_MAX, key, (uint32_t)channel, text, (size_t)length, (uint32_t)flags);
    self.emitted++;
    Py_RETURN_NONE;
}

static PyObject *core_define(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    char *text;
    Py_ssize_t length;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "define() takes kind, key and text (%zd arguments given)", count);
    if (PyBytes_AsStringAndSize(arguments[2], &text, &length)) return NULL;
    uint64_t kind = as_u64(arguments[0]), key = as_u64(arguments[1]);
    if (PyErr_Occurred()) return NULL;
    define(kind & 0xFF, key, text, (size_t)length);
    Py_RETURN_NONE;
}

static PyObject *core_key_space(PyObject *module, PyObject *ignored) { return PyLong_FromUnsignedLong(space_new()); }

/* Calls the function that it was made for. If a signal handler raises (on Ctrl-C, say) while the function runs, the
 * exception must not reach the caller with clew's frames in its traceback. So the function starts again, and the interrupt
 * is raised again once the program's own code runs. */
static PyObject *run_to_the_end(PyObject *function, PyObject *ignored) {
    PyThreadState *state = PyThreadState_Get();
    bool interrupted = false;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        PyThreadState_EnterTracing(state);
        PyObject *result = PyObject_CallNoArgs(function);
        PyThreadState_LeaveTracing(state);
        if (result) {
            Py_DECREF(result);
            break;
        }
        if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) interrupted = true;
        PyErr_Clear();
    }
    if (interrupted) PyErr_SetInterrupt();
    Py_RETURN_NONE;
}

static PyMethodDef to_the_end = {"to_the_end", run_to_the_end, METH_NOARGS, NULL};

static PyObject *core_to_the_end(PyObject *module, PyObject *function) { return PyCFunction_New(&to_the_end, function); }

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))core_start, METH_VARARGS | METH_KEYWORDS,
     "start(path, info, parent_uid, quota, budget, keep_newest=False): open a new trace file; OSError when it can't be."},
    {"stop", core_stop, METH_NOARGS, "stop(): close the file cleanly; does nothing when nothing is recorded."},
    {"active", core_active, METH_NOARGS, "active(): is this process recording?"},
    {"uid", core_uid, METH_NOARGS, "uid(): of the recording under way, or of the next one."},
    {"problem", core_problem, METH_NOARGS, "problem(): why recording stopped early, or ''."},
    {"thread", core_thread, METH_NOARGS, "thread(): the calling thread's serial; 0 when not recording."},
    {"calibrate", core_calibrate, METH_NOARGS, "calibrate(): ns that one plain record takes on this machine."},
    {"emitted", core_emitted, METH_NOARGS, "emitted(): how many records this thread made by emit."},
    {"book", core_book, METH_VARARGS, "book(ns, emitted): actions took that; True when they overdraw the budget."},
    {"pretend", core_pretend, METH_VARARGS, "pretend(cpu_ns, cost): for tests, the CPU time and a record's cost."},
    {"sample", core_sample, METH_O, "sample(share): record this share of request flows, from now on; 1 for all."},
    {"flow", core_flow, METH_NOARGS,
     "flow(): 0 outside of sampled request flows, 1 in one that is kept, 2 in one that is not."},
    {"flows", core_flows, METH_NOARGS, "flows(): (kept, dropped), the flows that were decided about here."},
    {"flow_key", core_flow_key, METH_O, "flow_key(key): a fresh key that carries the thread's flow to other processes."},
    {"flow_known", (PyCFunction)(void (*)(void))core_flow_known, METH_FASTCALL,
     "flow_known(key, state): who sent this key is in a flow of that state."},
    {"emit", (PyCFunction)(void (*)(void))core_emit, METH_FASTCALL | METH_KEYWORDS,
     "emit(kind, site, key, channel=0, text=b'', flags=0): a record with an extension."},
    {"define", (PyCFunction)(void (*)(void))core_define, METH_FASTCALL, "define(kind, key, text): a definition record."},
    {"to_the_end", core_to_the_end, METH_O, "to_the_end(function): what calls it, to its end, without any exception."},
    {"watch_queues", core_watch_queues, METH_VARARGS, "watch_queues(...): operands for a family of queues."},
    {"watch_simple_queues", core_watch_simple_queues, METH_VARARGS, "watch_simple_queues(type, Empty, channel, put, get)."},
    {"join_items", core_join_items, METH_O, "join_items(queue): what it hands out opens no scope."},
    {"ignore_simple_queue", core_ignore_simple_queue, METH_O, "ignore_simple_queue(queue): record nothing of it."},
    {"key_space", core_key_space, METH_NOARGS, "key_space(): of one mechanism, for the keys of its objects."},
    {"watch_handles", core_watch_handles, METH_VARARGS, "watch_handles(...): operands for asyncio's handles."},
    {"watch_futures", core_watch_futures, METH_VARARGS, "watch_futures(type, site): record outcomes of the C futures."},
    {"outcome_taken", core_outcome_taken, METH_O, "outcome_taken(future): record who learnt that it is done."},
    {"watch_tasks", core_watch_tasks, METH_VARARGS, "watch_tasks(type, site): record outcomes of the C tasks."},
    {"watch_task_waits", core_watch_task_waits, METH_VARARGS,
     "watch_task_waits(...): record what tasks wait for; False when it cannot."},
    {"await_about", core_await_about, METH_VARARGS, "await_about(future, key, channel, fields): what it is awaited for."},
    {"await_next", core_await_next, METH_VARARGS, "await_next(function, fields): what this function will wait for now."},
    {"ends_of", core_ends_of, METH_VARARGS, "ends_of(futures, limit=None): the fields of a wait for the ends of futures."},
    {"wait_timed_out", core_wait_timed_out, METH_O, "wait_timed_out(future): a time limit releases who awaits it."},
    {"strand_key", core_strand_key, METH_O, "strand_key(task): the key of its strand; 0 if it is no C task."},
    {"limit_task", core_limit_task, METH_VARARGS, "limit_task(task, on): it may run in a block with a time limit."},
    {"blocking", core_blocking, METH_VARARGS, "blocking(channel, waiters): the operand of a new future and its owner."},
    {"holding", core_holding, METH_VARARGS, "holding(channel, capacity, ...): operands for taking and giving back."},
    {"watch_cancels", core_watch_cancels, METH_VARARGS, "watch_cancels(channel, redacted): record who cancels tasks."},
    {"asking", core_asking, METH_VARARGS,
     "asking(channel, site, deadline, by): for whom cancellations are asked from now on; returns the same of before."},
    {"asking_once", core_asking_once, METH_VARARGS,
     "asking_once(future, channel, deadline): the same for the next cancellation of this future."},
    {"cancel_asked", core_cancel_asked, METH_VARARGS, "cancel_asked(key, channel, name, accepted, message): a CANCEL."},
    {"trace_locks", core_trace_locks, METH_VARARGS,
     "trace_locks(threading, lock_type, rlock_type, mechanisms, callers): record who lets whom go on; False when the types\n"
     "are not of the shape that is known. Mechanisms are (channel, site of the acquire, site of the release)."},
    {"trace_process_locks", core_trace_process_locks, METH_VARARGS,
     "trace_process_locks(type, acquire site, release site): record who waits for the locks that processes share."},
    {"share_lock", core_share_lock, METH_VARARGS, "share_lock(lock, key, channel, capacity, held): what the lock is."},
    {"shared_key", core_shared_key, METH_O, "shared_key(lock): what share_lock told, else 0."},
    {"watch_collector", core_watch_collector, METH_VARARGS,
     "watch_collector(gc.callbacks, site, channel): what the garbage collector runs is a scope of its own."},
    {"collecting", core_collecting, METH_NOARGS, "collecting(): does the garbage collector run in this thread?"},
    {"watch_signals", core_watch_signals, METH_VARARGS,
     "watch_signals(channel, raise_signal, site, kill, site, pthread_kill, site): record who sends signals to this process."},
    {"signal_cause", core_signal_cause, METH_O, "signal_cause(number): the key of who sent it, once; 0 when not known."},
    {"watch_contexts", core_watch_contexts, METH_VARARGS,
     "watch_contexts(copy_context, channel, copy_site, run_site): record who copies a context that something is run in."},
    {"watch_streams", core_watch_streams, METH_VARARGS, "watch_streams(...): record which bytes sockets and pipes carry."},
    {"watch_transfer", core_watch_transfer, METH_VARARGS, "watch_transfer(number, builtin function)."},
    {"watch_transfers", core_watch_transfers, METH_O, "watch_transfers(object): the methods of its type."},
    {"hand_streams", core_hand_streams, METH_O, "hand_streams(descriptors): a child goes on with them."},
    {"adopt_stream", core_adopt_stream, METH_VARARGS, "adopt_stream(fd, ...): this program goes on with it."},
    {"forget_stream", core_forget_stream, METH_O, "forget_stream(fd): record nothing of its bytes."},
    {"mute_streams", core_mute_streams, METH_O, "mute_streams(on): what this thread sends has edges of its own."},
    {"watch_stack", core_watch_stack, METH_VARARGS,
     "watch_stack(origin, site): what a file belongs to, and the site of a line (code, globals, line)."},
    {"stack_site", core_stack_site, METH_NOARGS, "stack_site(): of the program's line that runs; 0 if none."},
    {"watch_waits", core_watch_waits, METH_O, "watch_waits(rules): the functions of the standard library that wait."},
    {"object_key", core_object_key, METH_O, "object_key(object): a key for its whole life in this process."},
    {"slots_are", core_slots_are, METH_VARARGS, "slots_are(object, slots): how many slots a resource has."},
    {"part_of", core_part_of, METH_VARARGS, "part_of(part, owner, channel): who waits for the part waits for its owner."},
    {"wait", core_wait, METH_VARARGS, "wait(channel, key, limit, fields): record that this thread begins to wait."},
    {"hold", core_hold, METH_VARARGS, "hold(channel, key, site, fields): record that this strand holds a resource."},
    {"wake", core_wake, METH_VARARGS, "wake(wait, end): record how the wait ended."},
    {"watch_exceptions", core_watch_exceptions, METH_VARARGS, "watch_exceptions(redact, intern, channel of gaps)."},
    {"exception_record", core_exception_record, METH_VARARGS, "exception_record(error, role): record it and return its key."},
    {"exceptions_over", core_exceptions_over, METH_NOARGS, "exceptions_over(): mark the ends of gaps."},
    {"watch_outputs", core_watch_outputs, METH_VARARGS,
     "watch_outputs(text file, os.write, redact, channel of gaps): record lines of the descriptors 1 and 2."},
    {"mute_outputs", core_mute_outputs, METH_O, "mute_outputs(on): what this thread writes now is recorded otherwise."},
    {"outputs_over", core_outputs_over, METH_NOARGS, "outputs_over(): record this thread's unfinished lines."},
    {"pause_source", core_pause_source, METH_NOARGS,
     "pause_source(): what tells here that a thread did not run; '' for nothing."},
    {"watch_pauses", core_watch_pauses, METH_O, "watch_pauses(on): record when threads do not run."},
    {"waiter", core_waiter, METH_NOARGS, "waiter(): a lock that a condition makes for one wait."},
    {NULL, NULL, 0, NULL},
};

static void forked(void) {
    uint64_t process = store.active ? store.uid : 0, epoch = store.epoch;
    store_forked();
    locks_forked(process, epoch);
    courses_forked();
    pthread_mutex_init(&definitions.lock, NULL);
    keys_renew();
}

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    "_core",
    "Records of a traced process, stored in C.",
    -1,
    methods,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__core(void) {
    clock_choose();
    pause_ready();
    if (probe_ready() < 0 || PyType_Ready(&operand_type) < 0 || PyType_Ready(&ledger_type) < 0 ||
        PyType_Ready(&envelope_type) < 0 || !latch_ready())
        return NULL;
    int error = pthread_key_create(&store.key, thread_end);
    if (!error) error = pthread_key_create(&runs_key, free);
    if (!error) error = pthread_atfork(NULL, NULL, forked);
    if (error) {
        errno = error;
        return PyErr_SetFromErrno(PyExc_ImportError);
    }
    store_new_uid();
    keys_renew();
    PyObject *module = PyModule_Create(&module_definition);
    if (module && (PyModule_AddObjectRef(module, "Probe", (PyObject *)&probe_type) < 0 ||
                   PyModule_AddObjectRef(module, "Operand", (PyObject *)&operand_type) < 0 ||
                   PyModule_AddObjectRef(module, "Latch", (PyObject *)&latch_type) < 0 || !writes_ready(module)))
        Py_CLEAR(module);
    return module;
}
