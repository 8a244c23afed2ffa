// Part of faults.c: calls that open, read, make, rename and remove, and the notes of names.

// Removed and replaced files are linked here until the notes are read.
static char kept[256];
static int kept_count;

static void keep_in(const char *noted) {
  snprintf(kept, sizeof kept, "%s.kept", noted);
  syscall(SYS_mkdirat, AT_FDCWD, kept, 0700);
}

// The number of the file with this name, 0 if there is none.
static int64_t number_of(const char *path) {
  struct stat is;
  return fstatat(AT_FDCWD, path, &is, AT_SYMLINK_NOFOLLOW) == 0 ? (int64_t)is.st_ino : 0;
}

static int64_t folder_of(const char *path) {
  char folder[512];
  snprintf(folder, sizeof folder, "%s", path);
  char *end = strrchr(folder, '/');
  if (end == NULL) return 0;
  *end = 0;
  return number_of(folder);
}

static int is_noted(const char *path) { return losses >= 0 && path != NULL && path[0] == '/'; }

// Links a file that is about to lose its name; returns the link's path, or an empty text.
static void keep(const char *path, char *link, size_t size) {
  snprintf(link, size, "%s/%d-%d", kept, (int)getpid(), kept_count++);
  if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, link, 0) != 0) link[0] = 0;
}

// Notes a change of a name. Three zero-terminated texts follow: the name, the previous name, and the kept link.
static void note_name(char what, const char *name, const char *before, const char *link) {
  char texts[1600];
  int count = snprintf(texts, sizeof texts, "%s%c%s%c%s%c", name, 0, before, 0, link, 0);
  if (count <= 0 || count >= (int)sizeof texts) return;
  struct note note = {what, {0}, number_of(name), folder_of(name), before[0] ? folder_of(before) : 0, count};
  put(&note, texts, (size_t)count);
}

// Notes a file's change of length, with the bytes that it loses.
static void note_length(int file, int64_t length) {
  struct stat is;
  if (losses < 0 || fstat(file, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size == length) return;
  int64_t lost = is.st_size > length ? is.st_size - length : 0;
  void *before = lost > 0 ? malloc((size_t)lost) : NULL;
  char reopened[64];
  snprintf(reopened, sizeof reopened, "/proc/self/fd/%d", file);
  int reader = lost > 0 ? (int)syscall(SYS_openat, AT_FDCWD, reopened, O_RDONLY | O_CLOEXEC, 0) : -1;
  ssize_t got = reader < 0 ? 0 : syscall(SYS_pread64, reader, before, (size_t)lost, length);
  if (reader >= 0) close(reader);
  struct note note = {'w', {0}, (int64_t)is.st_ino, lost > 0 ? length : is.st_size, is.st_size, got > 0 ? got : 0};
  put(&note, before, got > 0 ? (size_t)got : 0);
  free(before);
}

static int opened(int folder, const char *path, int flags, mode_t mode) {
  if (refused('O', path)) return -1;
  int changes = is_noted(path) && (flags & (O_CREAT | O_TRUNC)) && (flags & O_TMPFILE) != O_TMPFILE;
  if (!changes) return (int)syscall(SYS_openat, folder, path, flags, mode);
  pthread_mutex_lock(&noting);
  int is_new = number_of(path) == 0;
  int file = -1;
  if (!is_new && (flags & O_TRUNC)) {
    int emptied = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC, 0);
    if (emptied >= 0) note_length(emptied, 0);
    if (emptied >= 0) close(emptied);
  }
  file = (int)syscall(SYS_openat, folder, path, flags, mode);
  int error = errno;
  if (file >= 0 && is_new) note_name('c', path, "", "");
  pthread_mutex_unlock(&noting);
  errno = error;
  return file;
}

#define MODE(flags)                                    \
  mode_t mode = 0;                                     \
  if ((flags) & (O_CREAT | O_TMPFILE)) {               \
    va_list more;                                      \
    va_start(more, flags);                             \
    mode = (mode_t)va_arg(more, int);                  \
    va_end(more);                                      \
  }

int open(const char *path, int flags, ...) {
  MODE(flags)
  return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE(flags)
  return opened(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  MODE(flags)
  return opened(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags)
  return opened(folder, path, flags, mode);
}

typedef FILE *(*open_stream)(const char *, const char *);

// RocksDB reads its journals and manifests through streams.
FILE *fopen(const char *path, const char *mode) {
  open_stream real = (open_stream)dlsym(RTLD_NEXT, "fopen");
  return refused('O', path) || real == NULL ? NULL : real(path, mode);
}

FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

typedef size_t (*read_stream)(void *, size_t, size_t, FILE *);

#undef fread_unlocked
// Streams hide short reads, so these count as complete here.
size_t fread_unlocked(void *bytes, size_t size, size_t count, FILE *stream) {
  int fault = fails('R', fileno(stream));
  if (fault == 'e' || fault == 'n') {
    stream->_flags |= 0x20;  // what ferror reads
    return 0;
  }
  read_stream real = (read_stream)dlsym(RTLD_NEXT, "fread_unlocked");
  return real == NULL ? 0 : real(bytes, size, count, stream);
}

static ssize_t read_from(int file, void *bytes, size_t count, int64_t offset, int at_place) {
  int fault = fails('R', file);
  if (fault == 'e' || fault == 'n') return -1;
  if (fault == 'h') count = count / 2 > 0 ? count / 2 : count;
  return at_place ? syscall(SYS_pread64, file, bytes, count, offset) : syscall(SYS_read, file, bytes, count);
}

ssize_t read(int file, void *bytes, size_t count) { return read_from(file, bytes, count, 0, 0); }

ssize_t pread(int file, void *bytes, size_t count, off_t offset) { return read_from(file, bytes, count, offset, 1); }

ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
  return read_from(file, bytes, count, offset, 1);
}

int ftruncate(int file, off_t length) {
  if (fails('A', file)) return -1;
  pthread_mutex_lock(&noting);
  note_length(file, length);
  int result = (int)syscall(SYS_ftruncate, file, length);
  pthread_mutex_unlock(&noting);
  return result;
}

int ftruncate64(int file, off64_t length) { return ftruncate(file, length); }

// Preallocated space has no content: only the call's failure matters.
int fallocate(int file, int mode, off_t offset, off_t count) {
  return fails('A', file) ? -1 : (int)syscall(SYS_fallocate, file, mode, offset, count);
}

int fallocate64(int file, int mode, off64_t offset, off64_t count) { return fallocate(file, mode, offset, count); }

// The call returns its error number.
int posix_fallocate(int file, off_t offset, off_t count) {
  return fails('A', file) || syscall(SYS_fallocate, file, 0, offset, count) != 0 ? errno : 0;
}

int posix_fallocate64(int file, off64_t offset, off64_t count) { return posix_fallocate(file, offset, count); }

int rename(const char *from, const char *to) {
  if (refused('N', to)) return -1;
  if (!is_noted(to) || !is_noted(from)) return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
  char link[300] = "";
  pthread_mutex_lock(&noting);
  if (number_of(to) != 0) keep(to, link, sizeof link);
  int result = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to), error = errno;
  if (result == 0) note_name('n', to, from, link);
  pthread_mutex_unlock(&noting);
  errno = error;
  return result;
}

int mkdir(const char *path, mode_t mode) {
  if (refused('M', path)) return -1;
  pthread_mutex_lock(&noting);
  int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode), error = errno;
  if (result == 0 && is_noted(path)) note_name('m', path, "", "");
  pthread_mutex_unlock(&noting);
  errno = error;
  return result;
}

int link(const char *from, const char *to) {
  pthread_mutex_lock(&noting);
  int result = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0), error = errno;
  if (result == 0 && is_noted(to)) note_name('l', to, "", "");
  pthread_mutex_unlock(&noting);
  errno = error;
  return result;
}

int linkat(int folder, const char *from, int to_folder, const char *to, int flags) {
  if (from[0] == '/' && to[0] == '/' && flags == 0) return link(from, to);
  return (int)syscall(SYS_linkat, folder, from, to_folder, to, flags);
}

int unlink(const char *path) {
  if (refused('u', path)) return -1;
  if (!is_noted(path)) return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  char link[300] = "";
  pthread_mutex_lock(&noting);
  keep(path, link, sizeof link);
  int64_t number = number_of(path);
  int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0), error = errno;
  if (result == 0 && number != 0) note_name('u', path, "", link);
  pthread_mutex_unlock(&noting);
  errno = error;
  return result;
}
