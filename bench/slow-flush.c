/* Preloaded by the row slow-disk: makes each flush of a file take SLOW_FLUSH_US microseconds longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_for_disk(void) {
  const char *text = getenv("SLOW_FLUSH_US");
  long micros = text == NULL ? 0 : atol(text);
  struct timespec left = {micros / 1000000, micros % 1000000 * 1000};
  while (nanosleep(&left, &left) != 0) {
  }
}

int fsync(int file) {
  wait_for_disk();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
  wait_for_disk();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
