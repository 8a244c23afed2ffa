// Faults on purpose, for tests: a library that is loaded in front of the C library (LD_PRELOAD) and
// lets calls on chosen files fail or stall, and moves the clock. The test writes what it wants into
// a small file that both sides have in memory, so that a fault begins and ends at once.

#define _GNU_SOURCE
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The file's layout; tests/support/faults.rs writes it.
struct control {
  volatile char call;         // d fdatasync, f fsync, w write, p pwrite, g getaddrinfo; 0 for none
  volatile char fault;        // e fails with EIO, s stalls until the fault is lifted
  char path[118];             // what the file's path, or the name, must contain
  volatile int64_t clock_ms;  // how far the clock is ahead
  volatile int64_t met;       // how many calls have met the fault
  volatile int64_t skip;      // how many calls are spared first
};

static struct control *control;

__attribute__((constructor)) static void load(void) {
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
  while (control->call == call && control->fault == 's') usleep(5000);
  return control->call == call && control->fault == 'e';
}

static int fails(char call, int file) {
  if (control == NULL || control->call != call) return 0;
  char link[64], path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (path[0] != '/' || !meets(call, path)) return 0;
  errno = EIO;
  return 1;
}

int fdatasync(int file) { return fails('d', file) ? -1 : (int)syscall(SYS_fdatasync, file); }

int fsync(int file) { return fails('f', file) ? -1 : (int)syscall(SYS_fsync, file); }

ssize_t write(int file, const void *bytes, size_t count) {
  return fails('w', file) ? -1 : syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return fails('p', file) ? -1 : syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return fails('p', file) ? -1 : syscall(SYS_pwrite64, file, bytes, count, offset);
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
