/* The functions and calls that are followed: tables of codes, and the state of each running frame. */
#ifndef CLEW_FOLLOWED_H
#define CLEW_FOLLOWED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef struct {
    PyCodeObject *code; /* owned; NULL for a free slot */
    int32_t number;     /* -1: not followed */
    int32_t parameters;
    PyObject *places;  /* bytes: int32 per code unit, the number of the instruction */
    PyObject *pops;    /* bytes: uint16 per instruction */
    PyObject *flags;   /* bytes: a byte per instruction */
    PyObject *cells;   /* bytes: a byte per parameter, 1 for one in a cell */
    PyObject *depths;  /* bytes: int32 per instruction, the height of the stack before it */
    PyObject *cell_of; /* bytes: int32 per instruction, the variable that holds the cell */
} CodeEntry;

typedef struct {
    PyFrameObject *frame; /* borrowed; NULL for a free slot, REMOVED for one that was freed */
    CodeEntry *code;
    int32_t number, instruction, depth, raised, unit;
} FrameState;

/* Open the tables. `describe` is called with each new code, and returns None or the code's tables. */
int followed_open(PyObject *describe);
void followed_close(void);

/* Return the tables of a code, asked for once; NULL if that failed. `number` is -1 for a code that is not followed. */
CodeEntry *find_code(PyCodeObject *code);

FrameState *find_frame(PyFrameObject *frame);
FrameState *add_frame(PyFrameObject *frame, CodeEntry *code);
void remove_frame(FrameState *state);

#endif
