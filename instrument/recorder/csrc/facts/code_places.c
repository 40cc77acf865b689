#include "facts/code_places.h"

#if PY_VERSION_HEX < 0x030E0000
/* There is no public way from an interpreter frame to its caller. */
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

#include "facts/stack.h"

#if PY_VERSION_HEX < 0x030E0000
static _PyInterpreterFrame *innermost(void) {
#if PY_VERSION_HEX < 0x030D0000
    return PyThreadState_Get()->cframe->current_frame;
#else
    return PyThreadState_Get()->current_frame;
#endif
}

const void *code_self(void) {
    _PyInterpreterFrame *frame = innermost();
#if PY_VERSION_HEX >= 0x030C0000
    while (frame && frame->owner == FRAME_OWNED_BY_CSTACK) frame = frame->previous;
#endif
    if (!frame) return NULL;
#if PY_VERSION_HEX >= 0x030D0000
    PyCodeObject *code = _PyFrame_GetCode(frame);
#else
    PyCodeObject *code = frame->f_code;
#endif
    if (!code->co_argcount || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, 0), "self"))
        return NULL;
    PyObject *self = frame->localsplus[0];
    return self && PyCell_Check(self) ? PyCell_GET(self) : self;
}

uint32_t code_places(struct code_place *at, uint32_t room) {
    uint32_t count = 0;
    for (_PyInterpreterFrame *frame = innermost(); frame && count < room; frame = frame->previous) {
#if PY_VERSION_HEX >= 0x030C0000
        if (frame->owner == FRAME_OWNED_BY_CSTACK) continue;
#endif
#if PY_VERSION_HEX >= 0x030D0000
        PyCodeObject *code = _PyFrame_GetCode(frame);
#else
        PyCodeObject *code = frame->f_code;
#endif
        at[count].code = (PyCodeObject *)Py_NewRef(code);
        at[count++].instruction = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
    }
    return count;
}
#else
const void *code_self(void) { return NULL; }

uint32_t code_places(struct code_place *at, uint32_t room) {
    struct _PyInterpreterFrame *frame = room ? PyThreadState_Get()->current_frame : NULL;
    if (!frame) return 0;
    at->instruction = PyUnstable_InterpreterFrame_GetLasti(frame);
    PyObject *code = PyUnstable_InterpreterFrame_GetCode(frame);
    if (code && PyCode_Check(code)) {
        at->code = (PyCodeObject *)code;
        return 1;
    }
    Py_XDECREF(code);
    return 0;
}
#endif

size_t code_places_json(const struct code_place *at, uint32_t places, char *out, size_t room) {
    size_t used = 1, frames = 0;
    out[0] = '[';
    for (uint32_t i = 0; i < places && used + 2 < room; i++) {
        bool last = false;
        if (!code_shown(at[i].code, &last)) {
            if (last) break;
            continue;
        }
        size_t comma = frames ? 1 : 0,
               written = code_json(at[i].code, at[i].instruction, out + used + comma, room - used - comma - 1);
        if (!written) break;
        if (comma) out[used] = ',';
        used += comma + written;
        frames++;
    }
    out[used++] = ']';
    return used;
}
