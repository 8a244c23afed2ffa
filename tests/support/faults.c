// Fault injection for tests: a library that is loaded in front of the C library (LD_PRELOAD), lets
// calls on chosen files fail or stall, and moves the clock. The test writes the fault into a small
// file that both sides map into memory, so that it begins and ends immediately.
//
// A fault meets one call by its letter, or every call of a group by the group's: S sync, W write, R read, O open,
// N rename, A allocate and truncate, M mkdir, U unlink. So a test can count a group's calls and fail each in turn.
//
// If FAULTS_LOSSES names a file, it records every write with the bytes that it replaced, every new, renamed and removed
// name, and every sync. A test that undoes everything after the last sync gets a disk as a loss of power may leave it.
// Calls on names, reads and opens are in faults_names.c.

#define _GNU_SOURCE
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The file's layout; tests/support/faults.rs writes it.
struct control {
  volatile char call;         // d fdatasync, f fsync, w write, p pwrite, u unlink, g getaddrinfo, or a group; 0 for none
  volatile char fault;        // e fails with EIO, n with ENOSPC, h writes or reads half, s stalls until the fault is
                              // lifted, k kills the process, l reports a sync that was not done, c counts the calls of all groups and fails none
  char path[118];             // text that the file's path, or the name, must contain
  volatile int64_t clock_ms;  // how far the clock is ahead
  volatile int64_t met;       // how many calls have met the fault
  volatile int64_t skip;      // how many calls are spared first
  volatile int64_t most;      // how many calls fail after them; 0 for all
  volatile int64_t counts[8]; // how many calls of each group there were, in the order of `groups`, while c counts
};

static const char groups[] = "OWSNARMU";

static struct control *control;
static int losses = -1;
static void keep_in(const char *losses);
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void load(void) {
  const char *noted = getenv("FAULTS_LOSSES");
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  if (noted != NULL) losses = (int)syscall(SYS_openat, AT_FDCWD, noted, flags, 0600);
  if (noted != NULL) keep_in(noted);
  const char *path = getenv("FAULTS_CONTROL");
  if (path == NULL) return;
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return;
  void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) control = memory;
}

static char group(char call) {
  switch (call) {
    case 'd': case 'f': case 'y': return 'S';
    case 'w': case 'p': return 'W';
    case 'u': return 'U';
    default: return call;
  }
}

static int asked(char call) {
  return control != NULL && (control->call == call || control->call == group(call) || control->fault == 'c');
}

// Whether a call on this path or name fails. A stalled call returns from here once the fault is lifted.
static int meets(char call, const char *path) {
  if (strstr(path, control->path) == NULL) return 0;
  if (control->fault == 'c') {
    const char *counted = strchr(groups, group(call));
    if (counted != NULL) __atomic_add_fetch(&control->counts[counted - groups], 1, __ATOMIC_SEQ_CST);
    return 0;
  }
  if (__atomic_fetch_sub(&control->skip, 1, __ATOMIC_SEQ_CST) > 0) return 0;
  int64_t met = __atomic_add_fetch(&control->met, 1, __ATOMIC_SEQ_CST);
  if (control->most > 0 && met > control->most) return 0;
  if (asked(call) && control->fault == 'k') kill(getpid(), SIGKILL);
  while (asked(call) && control->fault == 's') usleep(5000);
  int fault = asked(call) ? control->fault : 0;
  if (fault == 'e') errno = EIO;
  if (fault == 'n') errno = ENOSPC;
  return fault == 's' ? 0 : fault;
}

// The fault of a call on this file; 0 for none. The server's own output has none.
static int fails(char call, int file) {
  if (file <= STDERR_FILENO || !asked(call)) return 0;
  char link[64], path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return path[0] == '/' ? meets(call, path) : 0;
}

// Whether a call on this path fails instead of being done.
static int refused(char call, const char *path) {
  int fault = path != NULL && asked(call) ? meets(call, path) : 0;
  return fault == 'e' || fault == 'n';
}

// A note: the event, the file's number, the offset, the file's length, the number of bytes that follow. w is a write or
// a change of the length, with the replaced bytes; s a sync, x a failed one. Notes of names have the numbers of the
// folders instead, followed by the paths: c a new file, m a new folder, l a link, n a rename, u a removal.
struct note {
  char what;
  char unused[7];
  int64_t file, offset, size, count;
};

static void put(const struct note *note, const void *bytes, size_t count) {
  syscall(SYS_write, losses, note, sizeof *note);
  if (count > 0) syscall(SYS_write, losses, bytes, count);
}

// Does a write, after a note with the bytes that it replaces. Data in the kernel survives the process, so a note that
// is written before its write always suffices.
static ssize_t noted(int file, const void *bytes, size_t count, int64_t offset, int at_place) {
  struct stat is;
  if (losses < 0 || fstat(file, &is) != 0 || !S_ISREG(is.st_mode))
    return at_place ? syscall(SYS_pwrite64, file, bytes, count, offset) : syscall(SYS_write, file, bytes, count);
  pthread_mutex_lock(&noting);
  fstat(file, &is);
  if (!at_place) {
    int flags = fcntl(file, F_GETFL);
    offset = flags & O_APPEND ? is.st_size : (int64_t)lseek(file, 0, SEEK_CUR);
  }
  int64_t replaced = is.st_size - offset;
  if (replaced > (int64_t)count) replaced = (int64_t)count;
  if (replaced < 0) replaced = 0;
  void *before = replaced > 0 ? malloc((size_t)replaced) : NULL;
  char reopened[64];
  snprintf(reopened, sizeof reopened, "/proc/self/fd/%d", file);
  int reader = replaced > 0 ? (int)syscall(SYS_openat, AT_FDCWD, reopened, O_RDONLY | O_CLOEXEC, 0) : -1;
  ssize_t got = reader < 0 ? 0 : syscall(SYS_pread64, reader, before, (size_t)replaced, offset);
  if (reader >= 0) close(reader);
  struct note note = {'w', {0}, (int64_t)is.st_ino, offset, is.st_size, got > 0 ? got : 0};
  put(&note, before, got > 0 ? (size_t)got : 0);
  free(before);
  ssize_t written = at_place ? syscall(SYS_pwrite64, file, bytes, count, offset) : syscall(SYS_write, file, bytes, count);
  pthread_mutex_unlock(&noting);
  return written;
}

// Does a sync, and notes it afterwards: all writes before it are durable. Other threads' writes to the file wait
// meanwhile, so that no note claims too much.
static int synced(int file, long call) {
  struct stat is;
  if (losses < 0 || fstat(file, &is) != 0) return (int)syscall(call, file);
  pthread_mutex_lock(&noting);
  int result = (int)syscall(call, file);
  struct note note = {'s', {0}, (int64_t)is.st_ino, 0, 0, 0};
  if (result == 0) put(&note, NULL, 0);
  pthread_mutex_unlock(&noting);
  return result;
}

static ssize_t written(char call, int file, const void *bytes, size_t count, int64_t offset) {
  int fault = fails(call, file);
  if (fault == 'e' || fault == 'n') return -1;
  if (fault == 'h') count = count / 2 > 0 ? count / 2 : count;
  return noted(file, bytes, count, offset, call == 'p');
}

// A failed sync may have dropped data, which the next one need not report.
static int unsynced(int file, int fault) {
  int error = errno;
  struct stat is;
  if (losses >= 0 && fstat(file, &is) == 0) {
    struct note note = {'x', {0}, (int64_t)is.st_ino, 0, 0, 0};
    pthread_mutex_lock(&noting);
    put(&note, NULL, 0);
    pthread_mutex_unlock(&noting);
  }
  errno = error;
  return fault == 'l' ? 0 : -1;
}

int fdatasync(int file) {
  int fault = fails('d', file);
  return fault ? unsynced(file, fault) : synced(file, SYS_fdatasync);
}

int fsync(int file) {
  int fault = fails('f', file);
  return fault ? unsynced(file, fault) : synced(file, SYS_fsync);
}

// This makes nothing durable, so it is not noted.
int sync_file_range(int file, off64_t offset, off64_t count, unsigned int flags) {
  return fails('y', file) ? -1 : (int)syscall(SYS_sync_file_range, file, offset, count, flags);
}

ssize_t write(int file, const void *bytes, size_t count) { return written('w', file, bytes, count, 0); }

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return written('p', file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return written('p', file, bytes, count, offset);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME && control != NULL) {
    int64_t moved_ms = control->clock_ms;
    time->tv_sec += moved_ms / 1000;
    time->tv_nsec += moved_ms % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) {
      time->tv_nsec -= 1000000000;
      time->tv_sec += 1;
    } else if (time->tv_nsec < 0) {
      time->tv_nsec += 1000000000;
      time->tv_sec -= 1;
    }
  }
  return result;
}

typedef int (*look_up)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

// While look-ups have a fault, all other names of example.com resolve to this machine.
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  if (control != NULL && control->call == 'g' && name != NULL) {
    if (meets('g', name)) return EAI_AGAIN;
    if (strstr(name, "example.com") != NULL) name = "127.0.0.1";
  }
  look_up real = (look_up)dlsym(RTLD_NEXT, "getaddrinfo");
  return real == NULL ? EAI_FAIL : real(name, service, hints, found);
}

#include "faults_names.c"
