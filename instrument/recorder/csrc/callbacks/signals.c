#include "callbacks/signals.h"

#include <stdint.h>
#include <unistd.h>

#include "hooks/methods.h"
#include "hooks/operands.h"
#include "store/store.h"
#include "trace_format.h"

enum { SIGNALS = 128, SENDERS = 3 };

static struct {
    uint64_t key[SIGNALS]; /* of the SEND whose handler has not yet run */
    uint64_t word[SENDERS];
    uint32_t channel;
    struct method sender[SENDERS]; /* raise_signal, kill, pthread_kill */
} signals;

/* Records that signal `number` is being sent. Returns its key, 0 when it is none. */
static uint64_t signal_sent(int sender, PyObject *number) {
    long signal = PyLong_Check(number) ? PyLong_AsLong(number) : -1;
    PyErr_Clear();
    if (signal <= 0 || signal >= SIGNALS || !store.active) return 0;
    signals.key[signal] = key_fresh();
    put_keyed(signals.word[sender], signals.key[signal], signals.channel, 0);
    return signals.key[signal];
}

/* A signal that could not be sent causes nothing. */
static PyObject *signal_result(PyObject *result, uint64_t key) {
    for (int i = 0; !result && key && i < SIGNALS; i++)
        if (signals.key[i] == key) signals.key[i] = 0;
    return result;
}

static PyObject *signal_raise(PyObject *module, PyObject *number) {
    uint64_t key = signal_sent(0, number);
    return signal_result(signals.sender[0].original(module, number), key);
}

static PyObject *signal_kill(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    uint64_t key = 0;
    if (count == 2 && PyLong_Check(arguments[0]) && PyLong_AsLong(arguments[0]) == (long)getpid())
        key = signal_sent(1, arguments[1]);
    PyErr_Clear();
    return signal_result(((_PyCFunctionFast)(void (*)(void))signals.sender[1].original)(module, arguments, count), key);
}

static PyObject *signal_pthread_kill(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    uint64_t key = count == 2 ? signal_sent(2, arguments[1]) : 0;
    return signal_result(((_PyCFunctionFast)(void (*)(void))signals.sender[2].original)(module, arguments, count), key);
}

PyObject *core_signal_cause(PyObject *module, PyObject *number) {
    long signal = PyLong_AsLong(number);
    PyErr_Clear();
    uint64_t key = signal > 0 && signal < SIGNALS ? signals.key[signal] : 0;
    if (key) signals.key[signal] = 0;
    return PyLong_FromUnsignedLongLong(key);
}

PyObject *core_watch_signals(PyObject *module, PyObject *arguments) {
    static const int flags[SENDERS] = {METH_O, METH_FASTCALL, METH_FASTCALL};
    PyCFunction ours[SENDERS] = {signal_raise, (PyCFunction)(void (*)(void))signal_kill,
                                 (PyCFunction)(void (*)(void))signal_pthread_kill};
    PyObject *function[SENDERS];
    unsigned int site[SENDERS];
    if (!PyArg_ParseTuple(arguments, "IO!IO!IO!I:watch_signals", &signals.channel, &PyCFunction_Type, &function[0], &site[0],
                          &PyCFunction_Type, &function[1], &site[1], &PyCFunction_Type, &function[2], &site[2]))
        return NULL;
    for (int i = 0; i < SENDERS; i++)
        if (!signals.sender[i].original) {
            if (!function_replace(function[i], flags[i], ours[i], &signals.sender[i])) return NULL;
            signals.word[i] = keyed_word(KIND_SEND, site[i]);
        }
    Py_RETURN_NONE;
}
