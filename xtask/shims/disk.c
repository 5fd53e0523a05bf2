/* A disk and a wall clock that misbehave on demand, for a program started with LD_PRELOAD.
 *
 * DISK_SYNC_MILLIS=N     every fsync and fdatasync takes N milliseconds more
 * DISK_CONTROL=FILE      looked at on every call, and read again when it has changed; a line each:
 *     path TEXT          which files are meant: those whose path contains TEXT (all, if not said), or ends with it
 *                        where TEXT is followed by a $
 *     sync_millis N      as DISK_SYNC_MILLIS, in its place
 *     write ERROR        writing, growing and cutting fail; ERROR is enospc or eio
 *     room BYTES         so many bytes can be written before that; the last write is cut short
 *     sync ERROR         fsync and fdatasync fail, and sync nothing
 *     clock SECONDS      the wall clock is off by so much; clocks that cannot be set are not
 * Without the file, or with an empty one, all is well again.
 *
 * Calls that a test does not ask to fail go to the kernel as they came.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static struct orders {
    char path[256];
    long sync_millis;
    int write_error;
    int sync_error;
    int has_room;
    long long room;
    long clock;
} orders;

static const char *control;
static long sync_millis_always;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stat seen;

__attribute__((constructor)) static void begin(void) {
    const char *millis = getenv("DISK_SYNC_MILLIS");
    sync_millis_always = millis ? atol(millis) : 0;
    orders.sync_millis = sync_millis_always;
    control = getenv("DISK_CONTROL");
}

static int error_named(const char *name) {
    return strcmp(name, "enospc") == 0 ? ENOSPC : EIO;
}

static void read_orders(void) {
    char text[1024], word[32], value[256];
    struct orders next = {.sync_millis = sync_millis_always};
    long fd = syscall(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC, 0);
    long length = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof text - 1);
    if (fd >= 0) syscall(SYS_close, fd);
    text[length < 0 ? 0 : length] = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (sscanf(line, "%31s %255s", word, value) != 2) continue;
        if (strcmp(word, "path") == 0) strcpy(next.path, value);
        if (strcmp(word, "sync_millis") == 0) next.sync_millis = atol(value);
        if (strcmp(word, "write") == 0) next.write_error = error_named(value);
        if (strcmp(word, "sync") == 0) next.sync_error = error_named(value);
        if (strcmp(word, "clock") == 0) next.clock = atol(value);
        if (strcmp(word, "room") == 0) next.room = atoll(value), next.has_room = 1;
    }
    orders = next;
}

/* The orders as they stand now. */
static struct orders now_ordered(void) {
    if (!control) return orders;
    int before = errno;
    struct stat found;
    memset(&found, 0, sizeof found);
    stat(control, &found);
    pthread_mutex_lock(&lock);
    if (found.st_ino != seen.st_ino || found.st_size != seen.st_size ||
        found.st_mtim.tv_sec != seen.st_mtim.tv_sec ||
        found.st_mtim.tv_nsec != seen.st_mtim.tv_nsec) {
        seen = found;
        read_orders();
    }
    struct orders copy = orders;
    pthread_mutex_unlock(&lock);
    errno = before;
    return copy;
}

static int is_meant(const struct orders *now, int fd) {
    if (!now->path[0]) return 1;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    size_t wanted = strlen(now->path);
    if (now->path[wanted - 1] != '$') return strstr(path, now->path) != NULL;
    wanted -= 1;
    return (size_t)length >= wanted && strncmp(path + length - wanted, now->path, wanted) == 0;
}

/* How many of `wanted` bytes may be written; none leaves the error in errno. */
static size_t granted(int fd, size_t wanted) {
    struct orders now = now_ordered();
    if (!now.write_error || !is_meant(&now, fd)) return wanted;
    if (now.has_room && wanted > 0) {
        pthread_mutex_lock(&lock);
        size_t left = orders.room > 0 ? (size_t)orders.room : 0;
        size_t taken = wanted < left ? wanted : left;
        orders.room -= (long long)taken;
        pthread_mutex_unlock(&lock);
        if (taken > 0) return taken;
    }
    errno = now.write_error;
    return 0;
}

/* Whether a call that changes a file's length fails; then errno says how. */
static int fails(int fd) {
    struct orders now = now_ordered();
    if (!now.write_error || !is_meant(&now, fd)) return 0;
    errno = now.write_error;
    return 1;
}

static void sleep_millis(long millis) {
    struct timespec left = {.tv_sec = millis / 1000, .tv_nsec = millis % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

static int sync_with(long call, int fd) {
    struct orders now = now_ordered();
    if ((now.sync_millis > 0 || now.sync_error) && is_meant(&now, fd)) {
        if (now.sync_millis > 0) sleep_millis(now.sync_millis);
        if (now.sync_error) {
            errno = now.sync_error;
            return -1;
        }
    }
    return (int)syscall(call, fd);
}

int fsync(int fd) { return sync_with(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_with(SYS_fdatasync, fd); }

ssize_t write(int fd, const void *bytes, size_t length) {
    size_t most = granted(fd, length);
    return most == 0 && length > 0 ? -1 : syscall(SYS_write, fd, bytes, most);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    size_t most = granted(fd, length);
    return most == 0 && length > 0 ? -1 : syscall(SYS_pwrite64, fd, bytes, most, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    return pwrite64(fd, bytes, length, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    /* The first part alone where not all may go: a short write is a right answer. */
    size_t wanted = 0;
    for (int i = 0; i < count; i++) wanted += parts[i].iov_len;
    size_t most = granted(fd, wanted);
    if (most == wanted) return syscall(SYS_writev, fd, parts, count);
    if (most == 0) return -1;
    return syscall(SYS_write, fd, parts[0].iov_base, most < parts[0].iov_len ? most : parts[0].iov_len);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t length, unsigned flags) {
    size_t most = granted(to, length);
    if (most == 0 && length > 0) return -1;
    return syscall(SYS_copy_file_range, from, at, to, there, most, flags);
}

int ftruncate64(int fd, off64_t length) {
    return fails(fd) ? -1 : (int)syscall(SYS_ftruncate, fd, length);
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fallocate64(int fd, int mode, off64_t at, off64_t length) {
    return fails(fd) ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, length);
}
int fallocate(int fd, int mode, off_t at, off_t length) { return fallocate64(fd, mode, at, length); }

int posix_fallocate64(int fd, off64_t at, off64_t length) {
    int before = errno;
    int result = fallocate64(fd, 0, at, length) == 0 ? 0 : errno;
    errno = before;
    return result;
}
int posix_fallocate(int fd, off_t at, off_t length) { return posix_fallocate64(fd, at, length); }

static int (*real_clock_gettime)(clockid_t, struct timespec *);

int clock_gettime(clockid_t clock, struct timespec *moment) {
    if (!real_clock_gettime)
        real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real_clock_gettime(clock, moment);
    if (result == 0 && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        moment->tv_sec += now_ordered().clock;
    return result;
}

int gettimeofday(struct timeval *moment, void *zone) {
    (void)zone;
    struct timespec exact;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    moment->tv_sec = exact.tv_sec;
    moment->tv_usec = exact.tv_nsec / 1000;
    return result;
}

time_t time(time_t *moment) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (moment) *moment = exact.tv_sec;
    return exact.tv_sec;
}
