#include "scripts.h"

#include <string.h>

#include "unseen.h"

static PyObject *exec_offer;      /* Owned; NULL while exec is unchanged. */
static PyMethodDef *exec_builtin; /* Borrowed from the interpreter: what `exec` was. */
static PyMethodDef exec_method;   /* The one below, under its name and documentation. */

enum { EXEC_ARGUMENTS = 4 }; /* As many as exec takes. */

/* Is it a module's code, and not run by the import system, whose loaders' code was offered when it was read? */
static int is_script(PyObject *code) {
    PyObject *name = ((PyCodeObject *)code)->co_name;
    if (!PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, "<module>") != 0) {
        return 0;
    }
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) {
        return 0;
    }
    PyCodeObject *caller = PyFrame_GetCode(frame);
    int importing = PyUnicode_Check(caller->co_filename) &&
                    PyUnicode_CompareWithASCIIString(caller->co_filename, "<frozen importlib._bootstrap>") == 0;
    Py_DECREF(caller);
    return !importing;
}

/* Borrowed: the namespace argument of exec, or the namespace of its caller; NULL if exec will refuse it. */
static PyObject *namespace_of(PyObject *const *args, Py_ssize_t count, PyObject *names) {
    PyObject *found = count > 1 ? args[1] : NULL;
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "globals") == 0) {
            found = args[count + i];
        }
    }
    if (found == NULL || found == Py_None) {
        found = PyEval_GetGlobals();
    }
    return found != NULL && PyDict_Check(found) ? found : NULL;
}

/* Called straight, as the interpreter calls exec itself: one level of recursion, and the frame of the caller. */
static PyObject *exec_offered(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    _PyCFunctionFastWithKeywords original = (_PyCFunctionFastWithKeywords)(void (*)(void))exec_builtin->ml_meth;
    Py_ssize_t all = count + (names != NULL ? PyTuple_GET_SIZE(names) : 0);
    if (count < 1 || all > EXEC_ARGUMENTS || !PyCode_Check(args[0]) || exec_offer == NULL || !is_script(args[0])) {
        return original(module, args, count, names);
    }
    PyObject *namespace = namespace_of(args, count, names);
    PyObject *pair = namespace != NULL ? PyTuple_Pack(2, args[0], namespace) : NULL;
    PyObject *answer = pair != NULL ? call_unseen(exec_offer, pair, NULL, PyExc_Exception) : NULL;
    Py_XDECREF(pair);
    if (answer == NULL && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *result;
    if (answer != NULL && PyCode_Check(answer)) {
        PyObject *changed[EXEC_ARGUMENTS];
        memcpy(changed, args, (size_t)all * sizeof(PyObject *));
        changed[0] = answer;
        result = original(module, changed, count, names);
    } else {
        result = original(module, args, count, names);
    }
    Py_XDECREF(answer);
    return result;
}

PyObject *watch_exec(PyObject *Py_UNUSED(module), PyObject *function) {
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError, "only the main interpreter's scripts are recorded");
        return NULL;
    }
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *found = builtins != NULL ? PyObject_GetAttrString(builtins, "exec") : NULL;
    if (found != NULL && exec_builtin == NULL) {
        if (!PyCFunction_CheckExact(found) || PyCFunction_GET_FLAGS(found) != (METH_FASTCALL | METH_KEYWORDS)) {
            PyErr_SetString(PyExc_RuntimeError, "exec is not the interpreter's own");
            Py_CLEAR(found);
        } else {
            PyCFunctionObject *function_of = (PyCFunctionObject *)found;
            exec_method = *function_of->m_ml;
            exec_method.ml_meth = (PyCFunction)(void (*)(void))exec_offered;
            PyObject *made = PyCFunction_NewEx(&exec_method, function_of->m_self, function_of->m_module);
            if (made == NULL || PyObject_SetAttrString(builtins, "exec", made) < 0) {
                Py_CLEAR(found);
            } else {
                exec_builtin = function_of->m_ml;
            }
            Py_XDECREF(made);
        }
    }
    Py_XDECREF(builtins);
    if (found == NULL) {
        return NULL;
    }
    Py_DECREF(found);
    Py_XSETREF(exec_offer, Py_NewRef(function));
    Py_RETURN_NONE;
}
