/* A disk that is slow, hangs or fails: wraps fsync and fdatasync of the program that it is preloaded into.
 *
 * FSYNC_SHIM_FOLDER  what files there say is done; without it nothing is
 * FSYNC_SHIM_PATH    only files whose path has this in it; all when it is missing
 *
 * In the folder: `delay`: each call takes so many milliseconds more; `hold`: while it exists no call returns;
 * `fail`: while it exists every call fails with EIO; `nth`: the call of each process with this number fails so,
 * counted from 1. `log` tells of each call a line when it begins and one at the moment before it returns:
 * `begin|end|fail PID.NUMBER PATH`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A test that died must not leave processes that hang. */
#define HOLD_MILLISECONDS_MAX 60000
#define HELD_LOOKED_EVERY_MILLISECONDS 2

typedef int (*sync_call)(int);

static atomic_long calls;

static void pause_for(long milliseconds) {
    struct timespec left = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
    while (nanosleep(&left, &left) == -1 && errno == EINTR) {
    }
}

static int in_folder(char *path, const char *name) {
    const char *folder = getenv("FSYNC_SHIM_FOLDER");
    int length = folder ? snprintf(path, PATH_MAX, "%s/%s", folder, name) : -1;
    return length > 0 && length < PATH_MAX;
}

static int exists(const char *name) {
    char path[PATH_MAX];
    return in_folder(path, name) && access(path, F_OK) == 0;
}

static long number_in(const char *name) {
    char path[PATH_MAX], text[32] = {0};
    if (!in_folder(path, name))
        return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 ? atol(text) : 0;
}

static void tell(const char *what, long number, const char *of) {
    char path[PATH_MAX], line[PATH_MAX + 64];
    if (!in_folder(path, "log"))
        return;
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    int length = snprintf(line, sizeof line, "%s %ld.%ld %s\n", what, (long)getpid(), number, of);
    if (length > 0 && write(file, line, (size_t)length) != length)
        abort();
    close(file);
}

static int path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return 1;
}

static int is_meant(const char *path) {
    const char *part = getenv("FSYNC_SHIM_PATH");
    return !part || strstr(path, part);
}

static int wrapped(const char *name, int file) {
    sync_call real = (sync_call)dlsym(RTLD_NEXT, name);
    char path[PATH_MAX];
    if (!getenv("FSYNC_SHIM_FOLDER") || !path_of(file, path) || !is_meant(path))
        return real(file);
    long number = atomic_fetch_add(&calls, 1) + 1;
    tell("begin", number, path);
    for (long held = 0; exists("hold") && held < HOLD_MILLISECONDS_MAX; held += HELD_LOOKED_EVERY_MILLISECONDS)
        pause_for(HELD_LOOKED_EVERY_MILLISECONDS);
    pause_for(number_in("delay"));
    int fails = exists("fail") || number_in("nth") == number;
    int result = fails ? -1 : real(file);
    int error = fails ? EIO : errno;
    tell(result == 0 ? "end" : "fail", number, path);
    errno = error;
    return result;
}

int fsync(int file) { return wrapped("fsync", file); }

int fdatasync(int file) { return wrapped("fdatasync", file); }
