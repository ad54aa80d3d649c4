// A library, preloaded into a process, whose wall clock is off by CLOCK_OFF seconds. Clocks that only go forward stay right.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t off(void) {
    const char *seconds = getenv("CLOCK_OFF");
    return seconds ? (time_t)strtoll(seconds, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, now);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += off();
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec time;
    int code = clock_gettime(CLOCK_REALTIME, &time);
    if (code == 0 && now) *now = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    return code;
}

time_t time(time_t *place) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}
