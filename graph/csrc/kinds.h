/* What kinds of records the walks look for. */
#ifndef CLEW_KINDS_H
#define CLEW_KINDS_H

/* As in `records.event.Kind`. */
enum {
    ENTER = 1, EXIT = 2, UNWIND = 3, SUSPEND = 4, RESUME = 5, RECEIVE = 9, RELEASE = 11, ACQUIRE = 12, SCOPE_BEGIN = 16,
    SCOPE_END = 17, STEP_END = 19, REQUEST = 20, PAYLOAD = 27
};

#endif
