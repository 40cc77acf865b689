/* The file of a value trace: records of 32-bit words, and the numbers of objects in them. */
#ifndef CLEW_WRITER_H
#define CLEW_WRITER_H

#include "objects.h"

enum Kind { CALL = 1, STEP, RETURN, YIELD, UNWIND, RAISE, RESUME, CONTENTS, CELL, CUT, LENGTH };
enum Reason { OPCODES = 1, MEMORY, SECONDS, OTHER_TRACER, FAILED, DISK };

typedef struct {
    int fd;
    enum Reason reason; /* why nothing is recorded any more; 0 while it is */
    Objects objects;
    PyTypeObject *deque;
    int32_t *words;
    size_t used;
    uint64_t written, most_bytes;
} Writer;

extern Writer writer;

int writer_open(int fd, PyTypeObject *deque, uint64_t most_bytes);
void writer_close(void);

/* End the recording with a reason, the first one counts. Returns -1. */
int cut(enum Reason reason);

/* Write what is buffered. Returns -1 if the recording ended. */
int flush_words(void);

/* Make room for a record of `count` words behind its head, and write the head. */
int begin_record(enum Kind kind, size_t count);

void put(int32_t word);

/* Return the number of an object. A container that is new, or has another length than before, is described first. */
int32_t number_of(PyObject *object);

#endif
