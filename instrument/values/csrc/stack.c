#include "stack.h"

#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

PyObject *stack_entry(PyFrameObject *frame, PyCodeObject *code, int place) {
    return frame->f_frame->localsplus[code->co_nlocalsplus + place];
}

PyObject *local_variable(PyFrameObject *frame, int number) { return frame->f_frame->localsplus[number]; }

PyObject *global_names(PyFrameObject *frame) { return frame->f_frame->f_globals; }

PyFrameObject *caller_with_object(PyFrameObject *frame, int *skipped) {
    _PyInterpreterFrame *below = frame->f_frame->previous;
    while (below != NULL) {
#if PY_VERSION_HEX >= 0x030C0000
        int is_shim = below->owner == FRAME_OWNED_BY_CSTACK;
#else
        int is_shim = 0;
#endif
        if (!is_shim && !_PyFrame_IsIncomplete(below)) {
            if (below->frame_obj != NULL) return below->frame_obj;
            ++*skipped;
        }
        below = below->previous;
    }
    return NULL;
}
