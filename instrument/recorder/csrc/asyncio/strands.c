#include "asyncio/strands.h"

#include <stdio.h>
#include <stdlib.h>
#include <structmember.h>

#include "store/records.h"
#include "store/thread_definition.h"
#include "trace_format.h"

struct aio aio;

__thread struct runs *runs __attribute__((tls_model("initial-exec")));
pthread_key_t runs_key;

struct runs *runs_here(void) {
    if (UNLIKELY(!runs)) {
        runs = calloc(1, sizeof *runs);
        pthread_setspecific(runs_key, runs);
    }
    return runs;
}

struct table strands; /* of tasks of the C type; an entry's key is the strand's */

void strand_forget(const PyObject *task) { Py_XDECREF(table_forget(&strands, task).coroutine); }

void strand_define(PyObject *task, const struct beside *strand) {
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

PyObject *coroutine_name(PyObject *coroutine) {
    PyObject *name = NULL;
    if (coroutine && (PyCoro_CheckExact(coroutine) || PyGen_CheckExact(coroutine)))
        name = PyObject_GetAttrString(coroutine, "__qualname__");
    else if (coroutine) name = PyType_GetQualName(Py_TYPE(coroutine));
    PyErr_Clear();
    return name;
}

COLD struct beside *strand_begin(PyObject *task) {
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
    found->channel = 0;
    found->timed_out = false;
    strand_define(task, found);
    return found;
}
