#include "callbacks/contexts.h"

#include <stdint.h>

#include "hooks/methods.h"
#include "hooks/operands.h"
#include "store/store.h"
#include "trace_format.h"

typedef PyObject *(*context_method)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

static struct {
    PyObject *keys;       /* Owned: {address: key} */
    uint64_t copied, run; /* words of records */
    uint32_t channel;
    struct method copy, method;
    destructor dealloc;
} contexts;

static PyObject *context_copy(PyObject *module, PyObject *ignored) {
    PyObject *made = contexts.copy.original(module, ignored);
    if (!made || !store.active) return made;
    uint64_t number = key_fresh();
    PyObject *address = PyLong_FromVoidPtr(made), *key = PyLong_FromUnsignedLongLong(number);
    if (address && key && !PyDict_SetItem(contexts.keys, address, key)) put_keyed(contexts.copied, number, contexts.channel, 0);
    Py_XDECREF(address);
    Py_XDECREF(key);
    PyErr_Clear();
    return made;
}

static COLD void context_enters(PyObject *context) {
    PyObject *address = PyLong_FromVoidPtr(context);
    PyObject *key = address ? PyDict_GetItemWithError(contexts.keys, address) : NULL;
    if (key) put_keyed(contexts.run, PyLong_AsUnsignedLongLongMask(key), contexts.channel, 0);
    Py_XDECREF(address);
    PyErr_Clear();
}

static PyObject *context_run(PyObject *context, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    if (PyDict_GET_SIZE(contexts.keys) && store.active) context_enters(context);
    return ((context_method)(void (*)(void))contexts.method.original)(context, arguments, count, names);
}

static void context_dealloc(PyObject *context) {
    if (PyDict_GET_SIZE(contexts.keys)) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *address = PyLong_FromVoidPtr(context);
        if (address && PyDict_GetItemWithError(contexts.keys, address)) PyDict_DelItem(contexts.keys, address);
        Py_XDECREF(address);
        PyErr_Restore(type, value, traceback);
    }
    contexts.dealloc(context);
}

PyObject *core_watch_contexts(PyObject *module, PyObject *arguments) {
    PyObject *copy;
    unsigned int channel, copy_site, run_site;
    if (!PyArg_ParseTuple(arguments, "O!III:watch_contexts", &PyCFunction_Type, &copy, &channel, &copy_site, &run_site))
        return NULL;
    PyMethodDef *run = method_find(&PyContext_Type, "run");
    if (!run || run->ml_flags != (METH_FASTCALL | METH_KEYWORDS))
        return PyErr_Format(PyExc_TypeError, "Context.run is not the method it was");
    if (!contexts.keys) {
        PyMethodDef *plain = ((PyCFunctionObject *)copy)->m_ml;
        contexts.keys = PyDict_New();
        if (!contexts.keys || !function_replace(copy, METH_NOARGS, context_copy, &contexts.copy) ||
            !method_replace(&PyContext_Type, "run", (PyCFunction)(void (*)(void))context_run, &contexts.method))
            return NULL;
        contexts.dealloc = PyContext_Type.tp_dealloc;
        PyContext_Type.tp_dealloc = context_dealloc;
        contexts.copied = keyed_word(KIND_SEND, copy_site);
        contexts.run = keyed_word(KIND_JOIN, run_site);
        contexts.channel = channel;
        return PyCFunction_New(plain, NULL);
    }
    Py_RETURN_NONE;
}
