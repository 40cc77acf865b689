#include "store/lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "store/chunks.h"
#include "store/clock.h"
#include "store/finished_chunks.h"
#include "store/pauses.h"
#include "store/store.h"
#include "trace_format.h"

void thread_end(void *value) {
    struct thread *thread = value;
    pause_disarm();
    pthread_mutex_lock(&store.lock);
    if (thread->linked) {
        thread_unlink(thread);
        chunk_release(thread->chunk, thread->segment);
    }
    thread_reset(thread);
    free(thread->stack);
    thread->stack = NULL;
    free(thread->depth);
    thread->depth = NULL;
    thread->depths = 0;
    pthread_mutex_unlock(&store.lock);
}

bool thread_begin(void) {
    thread_reset(&self);
    self.native_id = (uint64_t)syscall(SYS_gettid);
    if (pthread_setspecific(store.key, &self)) return false;
    pthread_mutex_lock(&store.lock);
    self.serial = ++store.serials;
    self.before = NULL;
    self.next = store.threads;
    if (store.threads) store.threads->before = &self;
    store.threads = &self;
    self.linked = true;
    pthread_mutex_unlock(&store.lock);
    pause_arm();
    return true;
}

void store_new_uid(void) {
    if (getrandom(&store.uid, sizeof store.uid, GRND_NONBLOCK) != sizeof store.uid)
        store.uid = clock_read(CLOCK_REALTIME) * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid();
    store.uid |= !store.uid;
}

void store_unmap_header(void) {
    if (store.header) munmap(store.header, HEADER_SIZE);
    store.header = NULL;
}

void store_forked(void) {
    store.active = false;
    store.header = NULL;
    store.threads = NULL;
    store.segments = store.serials = 0;
    store.capacity = store.idle = 0;
    store.epoch++;
    store.problem[0] = 0;
    pthread_mutex_init(&store.lock, NULL);
    self.linked = false;
    thread_reset(&self);
    store_new_uid();
}

/* Creates a file and maps its header page. Returns NULL and sets `*error` if it cannot. */
static struct file_header *file_create(const char *path, int *error) {
    struct stat made;
    char *map = NULL;
    size_t length;
    *error = strlen(path) < sizeof store.path ? 0 : ENAMETOOLONG;
    int fd = *error ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        *error = *error ? *error : errno;
        return NULL;
    }
    *error = fstat(fd, &made) ? errno : disk_allocate(fd, 0, HEADER_SIZE);
    if (!*error && !map_file(fd, 0, HEADER_SIZE, &map, &length)) *error = errno;
    close(fd);
    if (*error) {
        unlink(path);
        return NULL;
    }
    strcpy(store.path, path);
    store.device = made.st_dev;
    store.inode = made.st_ino;
    return (struct file_header *)map;
}

int store_open(const char *path, const char *info, uint32_t info_length, uint64_t parent_uid, uint64_t quota,
               bool keep_newest) {
    int error;
    store.mute = fstat(STDERR_FILENO, &store.error_output) != 0;
    struct file_header *header = file_create(path, &error);
    if (!header) return error;
    header->version = VERSION;
    header->header_size = HEADER_SIZE;
    header->chunk_size = CHUNK_SIZE;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->clock = clock_cycles ? CLOCK_CYCLES : CLOCK_NANOSECONDS;
    header->state = STATE_RECORDING;
    header->uid = store.uid;
    header->parent_uid = parent_uid;
    clock_pair(&header->start_ticks, &header->start_monotonic_ns);
    header->start_wall_ns = clock_read(CLOCK_REALTIME);
    memcpy((char *)header + INFO_OFFSET, &info_length, 4);
    memcpy((char *)header + INFO_OFFSET + 4, info, info_length);

    store.header = header;
    store.segments = store.serials = 0;
    store.capacity = store.idle = 0;
    store.keep_newest = keep_newest;
    store.returning = false;
    aging_forget();
    store.limit = quota > HEADER_SIZE ? (quota - HEADER_SIZE) / CHUNK_SIZE : 0;
    store.error = 0;
    store.problem[0] = 0;
    store.epoch++;
    if (store.limit && !grow(0)) {
        error = store.error;
        store_unmap_header();
        unlink(path);
        return error;
    }
    store_clock_pair();
    uint64_t magic;
    memcpy(&magic, MAGIC, 8);
    __atomic_store_n((uint64_t *)(void *)header->magic, magic, __ATOMIC_RELEASE);
    store.active = true;
    return 0;
}
