/* clew.graph.runtime._file_malloc: where large blocks of memory come from in a process that was started with this file preloaded.
 *
 * It stands in for malloc and the like. Once `begin` has named a folder, blocks from a size on are files there without a name,
 * mapped: the system writes them out instead of running out of memory, and has them gone with the process, however it ends.
 * Everyone's large blocks go there, whoever allocates them (numpy and its sorts, Arrow, Python's own lists, our C).
 * Invariants: a block's room on the disk is reserved before it is mapped, so that a full disk is a NULL and never a SIGBUS;
 * a block that is freed gives its room back at once; smaller blocks, and all before `begin`, are the C library's. */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

/* glibc's own, under the names that stay theirs. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

enum { PAGE = 4096, MOST_BLOCKS = 1 << 15, MOST_FILES = 1 << 12 };
/* A process may have twice as many mappings by default; what comes after these blocks is the C library's again. */

typedef struct {
    char *at;
    size_t size; /* whole pages */
    int file;    /* -1 when it is closed, since many are open */
} Block;

static struct {
    pthread_mutex_t lock;
    bool on;
    size_t least;
    char folder[PATH_MAX];
    Block blocks[MOST_BLOCKS]; /* by address */
    _Atomic size_t count;      /* is also asked for without the lock */
    size_t held, most_held;
    int most_files;
    _Atomic int refused;
} scratch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t whole_pages(size_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

/* ---- the table; whoever calls holds the lock ----------------------------------------------------------------------- */

/* The first block that is not below an address. */
static size_t place_of(const void *at) {
    size_t low = 0, high = scratch.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (scratch.blocks[middle].at < (const char *)at) low = middle + 1;
        else high = middle;
    }
    return low;
}

static Block *block_at(const void *at) {
    size_t place = place_of(at);
    return place < scratch.count && scratch.blocks[place].at == at ? scratch.blocks + place : NULL;
}

static bool table_add(Block block) {
    if (scratch.count == MOST_BLOCKS) return false;
    size_t place = place_of(block.at);
    memmove(scratch.blocks + place + 1, scratch.blocks + place, (scratch.count++ - place) * sizeof block);
    scratch.blocks[place] = block;
    scratch.held += block.size;
    if (scratch.held > scratch.most_held) scratch.most_held = scratch.held;
    return true;
}

static void table_remove(Block *block) {
    scratch.held -= block->size;
    memmove(block, block + 1, (size_t)(scratch.blocks + --scratch.count - block) * sizeof *block);
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

/* A file without a name, with room for `size` bytes; -1 and errno. */
static int file_make(size_t size) {
    int file = open(scratch.folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char name[PATH_MAX + 16];
        snprintf(name, sizeof name, "%s/block-XXXXXX", scratch.folder);
        if ((file = mkostemp(name, O_CLOEXEC)) >= 0) unlink(name);
    }
    if (file < 0) return -1;
    int error = posix_fallocate(file, 0, (off_t)size);
    if (!error) return file;
    close(file);
    errno = error;
    return -1;
}

static void *block_make(size_t size) {
    if (size > PTRDIFF_MAX - PAGE) {
        errno = ENOMEM;
        return NULL;
    }
    size = whole_pages(size);
    int file = file_make(size);
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= scratch.most_files) {
        close(file);
        file = -1;
    }
    if (at != MAP_FAILED) {
        pthread_mutex_lock(&scratch.lock);
        bool added = table_add((Block){at, size, file});
        pthread_mutex_unlock(&scratch.lock);
        if (added) return at;
        munmap(at, size);
    }
    scratch.refused = errno;
    if (file >= 0) close(file);
    errno = ENOMEM;
    return NULL;
}

/* Is it one of ours? Then its size, else 0. Ours lie on page boundaries, which hardly any other does. */
static size_t size_of(const void *at) {
    if ((uintptr_t)at % PAGE || !at) return 0;
    pthread_mutex_lock(&scratch.lock);
    const Block *block = block_at(at);
    size_t size = block ? block->size : 0;
    pthread_mutex_unlock(&scratch.lock);
    return size;
}

static void block_free(void *at) {
    int error = errno;
    pthread_mutex_lock(&scratch.lock);
    Block *found = block_at(at), block = *found;
    table_remove(found);
    pthread_mutex_unlock(&scratch.lock);
    munmap(block.at, block.size);
    if (block.file >= 0) close(block.file);
    errno = error;
}

/* Changes a block's size where its file can be changed; NULL when that is not so, or there is no room. */
static void *block_resize(void *at, size_t size) {
    size = whole_pages(size);
    pthread_mutex_lock(&scratch.lock);
    Block *found = block_at(at), block = *found;
    pthread_mutex_unlock(&scratch.lock);
    if (size == block.size) return at;
    if (block.file < 0 || (size > block.size && posix_fallocate(block.file, 0, (off_t)size))) return NULL;
    /* Where it was, another thread's next block may be as soon as it has moved. */
    pthread_mutex_lock(&scratch.lock);
    void *moved = mremap(at, block.size, size, MREMAP_MAYMOVE);
    if (moved != MAP_FAILED) {
        table_remove(block_at(at));
        table_add((Block){moved, size, block.file});
    }
    pthread_mutex_unlock(&scratch.lock);
    if (moved == MAP_FAILED) return NULL;
    /* A remainder that cannot be cut off stays with the file. */
    if (size < block.size && ftruncate(block.file, (off_t)size)) errno = 0;
    return moved;
}

static bool is_large(size_t size) { return scratch.on && size >= scratch.least && scratch.count < MOST_BLOCKS; }

/* ---- what the C library is asked for ------------------------------------------------------------------------------- */

SHOWN void *malloc(size_t size) { return is_large(size) ? block_make(size) : __libc_malloc(size); }

SHOWN void *calloc(size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return is_large(all) ? block_make(all) : __libc_calloc(count, size); /* a new file is zeros */
}

SHOWN void free(void *at) {
    if (size_of(at)) block_free(at);
    else __libc_free(at);
}

SHOWN size_t malloc_usable_size(void *at) {
    static size_t (*theirs)(void *);
    size_t size = size_of(at);
    if (size) return size;
    if (!theirs) theirs = (size_t (*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    return theirs(at);
}

SHOWN void *realloc(void *at, size_t size) {
    size_t before = size_of(at);
    if (!before && !is_large(size)) return __libc_realloc(at, size);
    if (before && is_large(size)) {
        void *resized = block_resize(at, size);
        if (resized) return resized;
    }
    if (before && !size) {
        free(at);
        return NULL;
    }
    void *moved = malloc(size);
    if (!moved || !at) return moved;
    if (!before) before = malloc_usable_size(at);
    memcpy(moved, at, before < size ? before : size);
    free(at);
    return moved;
}

SHOWN void *reallocarray(void *at, size_t count, size_t size) {
    size_t all;
    if (!__builtin_mul_overflow(count, size, &all)) return realloc(at, all);
    errno = ENOMEM;
    return NULL;
}

SHOWN void *memalign(size_t alignment, size_t size) {
    return alignment <= PAGE && is_large(size) ? block_make(size) : __libc_memalign(alignment, size);
}

SHOWN void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

SHOWN int posix_memalign(void **at, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || alignment & (alignment - 1)) return EINVAL;
    int error = errno;
    void *found = memalign(alignment, size);
    errno = error;
    if (!found) return ENOMEM;
    *at = found;
    return 0;
}

SHOWN void *valloc(size_t size) { return memalign(PAGE, size); }

SHOWN void *pvalloc(size_t size) { return memalign(PAGE, whole_pages(size)); }

/* ---- the module ---------------------------------------------------------------------------------------------------- */

/* Is the malloc that everyone finds the one above? */
static bool in_charge(void) {
    Dl_info theirs, ours;
    return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &theirs) && dladdr((void *)in_charge, &ours) &&
           theirs.dli_fbase == ours.dli_fbase;
}

static PyObject *begin(PyObject *module, PyObject *args) {
    PyObject *folder;
    Py_ssize_t least;
    if (!PyArg_ParseTuple(args, "O&n", PyUnicode_FSConverter, &folder, &least)) return NULL;
    const char *path = PyBytes_AS_STRING(folder);
    struct rlimit files;
    if (!in_charge()) PyErr_SetString(PyExc_RuntimeError, "not preloaded");
    else if (strlen(path) >= sizeof scratch.folder) PyErr_SetString(PyExc_ValueError, "too long a path");
    else {
        strcpy(scratch.folder, path);
        scratch.least = least < PAGE ? PAGE : (size_t)least;
        /* Others need some, too. */
        if (getrlimit(RLIMIT_NOFILE, &files)) files.rlim_cur = 0;
        scratch.most_files = (int)((files.rlim_cur < MOST_FILES ? files.rlim_cur : MOST_FILES) / 2);
        scratch.on = true;
    }
    Py_DECREF(folder);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *taken(PyObject *module, PyObject *args) {
    pthread_mutex_lock(&scratch.lock);
    size_t now = scratch.held, most = scratch.most_held, count = scratch.count;
    pthread_mutex_unlock(&scratch.lock);
    return Py_BuildValue("nnn", (Py_ssize_t)count, (Py_ssize_t)now, (Py_ssize_t)most);
}

static PyObject *refused(PyObject *module, PyObject *args) { return PyLong_FromLong(scratch.refused); }

static PyMethodDef methods[] = {
    {"begin", begin, METH_VARARGS, NULL},
    {"taken", taken, METH_NOARGS, NULL},
    {"refused", refused, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "clew.graph.runtime._file_malloc", .m_methods = methods};

PyMODINIT_FUNC PyInit__file_malloc(void) { return PyModuleDef_Init(&definition); }
