/* Preloaded into a program under test: makes chosen calls of the C library fail for trace files, and the clocks jump.
 *
 * CLEW_FAULT is a list like "mmap:2:12": from the second mmap of a trace file on, each fails with errno 12. A name ending in
 * "!" fails once only. "clock_gettime:N:0" makes every second stretch of N readings of any clock an hour early. Everything
 * else is passed on; a test without CLEW_FAULT sees the C library as it is. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Is a fault to be injected in this call of `name`? Gives its errno, or 0. */
static int fault(const char *name, unsigned *calls) {
    const char *at = getenv("CLEW_FAULT");
    size_t length = strlen(name);
    for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, name, length) || (at[length] != ':' && at[length] != '!')) continue;
        int once = at[length] == '!';
        unsigned from = 0;
        int error = 0;
        if (sscanf(at + length + once, ":%u:%d", &from, &error) != 2) continue;
        unsigned call = __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
        return once ? (call == from ? error : 0) : (call >= from ? error : 0);
    }
    return 0;
}

static int is_trace(const char *path) {
    size_t length = strlen(path);
    return length > 5 && !strcmp(path + length - 5, ".clew");
}

static int names_trace(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 ? -1 : readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_trace(path);
}

static unsigned allocations, mappings, cuts, opens, keys, locks;

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    int error = names_trace(fd) ? fault("posix_fallocate", &allocations) : 0;
    return error ? error : REAL(posix_fallocate64)(fd, offset, length);
}

int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
    int error = names_trace(fd) && flags & MAP_SHARED && protection & PROT_WRITE ? fault("mmap", &mappings) : 0;
    if (error) {
        errno = error;
        return MAP_FAILED;
    }
    return REAL(mmap64)(address, length, protection, flags, fd, offset);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    return mmap64(address, length, protection, flags, fd, offset);
}

int ftruncate64(int fd, off64_t length) {
    int error = names_trace(fd) ? fault("ftruncate", &cuts) : 0;
    if (error) {
        errno = error;
        return -1;
    }
    return REAL(ftruncate64)(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    int error = is_trace(path) ? fault("open", &opens) : 0;
    if (error) {
        errno = error;
        return -1;
    }
    return REAL(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open64(path, flags, mode);
}

static int set_lock(int fd, int command, void *argument, __typeof__(&fcntl) real) {
    int error = command == F_OFD_SETLK && names_trace(fd) ? fault("fcntl", &locks) : 0;
    if (error) {
        errno = error;
        return -1;
    }
    return real(fd, command, argument);
}

#define SET_LOCK(name)                                      \
    int name(int fd, int command, ...) {                    \
        va_list rest;                                       \
        va_start(rest, command);                            \
        void *argument = va_arg(rest, void *);              \
        va_end(rest);                                       \
        return set_lock(fd, command, argument, REAL(name)); \
    }
SET_LOCK(fcntl)
SET_LOCK(fcntl64)

int pthread_setspecific(pthread_key_t key, const void *value) {
    Dl_info caller;
    int ours = dladdr(__builtin_return_address(0), &caller) && caller.dli_fname && strstr(caller.dli_fname, "/_core.");
    int error = ours ? fault("pthread_setspecific", &keys) : 0;
    return error ? error : REAL(pthread_setspecific)(key, value);
}

int clock_gettime(clockid_t id, struct timespec *time) {
    static __typeof__(&clock_gettime) real;
    static unsigned stretch, readings;
    if (!real) {
        const char *wanted = getenv("CLEW_FAULT");
        const char *at = wanted ? strstr(wanted, "clock_gettime:") : NULL;
        stretch = at ? (unsigned)atoi(at + strlen("clock_gettime:")) : 0;
        real = REAL(clock_gettime);
    }
    int result = real(id, time);
    if (stretch && !result && __atomic_fetch_add(&readings, 1, __ATOMIC_RELAXED) / stretch % 2 && time->tv_sec > 3600)
        time->tv_sec -= 3600;
    return result;
}
