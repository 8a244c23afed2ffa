// Faults on purpose, for tests: a library that is loaded in front of the C library (LD_PRELOAD) and
// lets calls on chosen files fail or stall, and moves the clock. The test writes what it wants into
// a small file that both sides have in memory, so that a fault begins and ends at once.
//
// Where FAULTS_LOSSES names a file, every write is noted there with what it replaced, and every sync of a file. A test
// that undoes the writes since each file's last sync has the disk as a loss of power may leave it.

#define _GNU_SOURCE
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
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
  volatile char call;         // d fdatasync, f fsync, w write, p pwrite, u unlink, g getaddrinfo; 0 for none
  volatile char fault;        // e fails with EIO, n with ENOSPC, h writes half, s stalls until the fault is lifted,
                              // k kills the process
  char path[118];             // what the file's path, or the name, must contain
  volatile int64_t clock_ms;  // how far the clock is ahead
  volatile int64_t met;       // how many calls have met the fault
  volatile int64_t skip;      // how many calls are spared first
};

static struct control *control;
static int losses = -1;
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void load(void) {
  const char *noted = getenv("FAULTS_LOSSES");
  if (noted != NULL) losses = open(noted, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const char *path = getenv("FAULTS_CONTROL");
  if (path == NULL) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) control = memory;
}

// Whether a call on this path or name fails. One that stalls returns from here when the fault is lifted.
static int meets(char call, const char *path) {
  if (strstr(path, control->path) == NULL) return 0;
  if (__atomic_fetch_sub(&control->skip, 1, __ATOMIC_SEQ_CST) > 0) return 0;
  __atomic_fetch_add(&control->met, 1, __ATOMIC_SEQ_CST);
  if (control->call == call && control->fault == 'k') kill(getpid(), SIGKILL);
  while (control->call == call && control->fault == 's') usleep(5000);
  return control->call == call ? control->fault : 0;
}

// What a call on this file meets: 0 for nothing.
static int fails(char call, int file) {
  if (control == NULL || control->call != call) return 0;
  char link[64], path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (path[0] != '/') return 0;
  int fault = meets(call, path);
  if (fault == 'e') errno = EIO;
  if (fault == 'n') errno = ENOSPC;
  return fault == 's' ? 0 : fault;
}

// A note: what happened (w a write, s a sync), the file's number, where, how long the file was, how many bytes of it
// were replaced; these follow.
struct note {
  char what;
  char unused[7];
  int64_t file, offset, size, count;
};

static void put(const struct note *note, const void *bytes, size_t count) {
  syscall(SYS_write, losses, note, sizeof *note);
  if (count > 0) syscall(SYS_write, losses, bytes, count);
}

// Does a write and notes before it what it replaces. What the kernel has not written survives the process, so a note
// that stands there before its write is always enough.
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
  int reader = replaced > 0 ? open(reopened, O_RDONLY | O_CLOEXEC) : -1;
  ssize_t got = reader < 0 ? 0 : pread(reader, before, (size_t)replaced, offset);
  if (reader >= 0) close(reader);
  struct note note = {'w', {0}, (int64_t)is.st_ino, offset, is.st_size, got > 0 ? got : 0};
  put(&note, before, got > 0 ? (size_t)got : 0);
  free(before);
  ssize_t written = at_place ? syscall(SYS_pwrite64, file, bytes, count, offset) : syscall(SYS_write, file, bytes, count);
  pthread_mutex_unlock(&noting);
  return written;
}

// Does a sync, and notes it once it is done: what was written before it is durable. What other threads write to the
// file meanwhile waits, so that no note claims too much.
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

int fdatasync(int file) { return fails('d', file) ? -1 : synced(file, SYS_fdatasync); }

int fsync(int file) { return fails('f', file) ? -1 : synced(file, SYS_fsync); }

ssize_t write(int file, const void *bytes, size_t count) { return written('w', file, bytes, count, 0); }

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return written('p', file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return written('p', file, bytes, count, offset);
}

typedef int (*remove_name)(const char *);

int unlink(const char *path) {
  int fault = control != NULL && control->call == 'u' ? meets('u', path) : 0;
  if (fault == 'e') errno = EIO;
  remove_name real = (remove_name)dlsym(RTLD_NEXT, "unlink");
  return fault == 'e' || real == NULL ? -1 : real(path);
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

// While names meet a fault, the other ones of example.com lead to this machine.
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  if (control != NULL && control->call == 'g' && name != NULL) {
    if (meets('g', name)) return EAI_AGAIN;
    if (strstr(name, "example.com") != NULL) name = "127.0.0.1";
  }
  look_up real = (look_up)dlsym(RTLD_NEXT, "getaddrinfo");
  return real == NULL ? EAI_FAIL : real(name, service, hints, found);
}
