/* wherefore.h: the C ABI of the in-process profiler. profiler.h, context.h and tracer.h are C++17
 * over it.
 *
 * Every function may be called from any thread, before start and after stop, and from a forked
 * child. None throws, none touches errno, none writes to stdout. None may be called from a signal
 * handler except wherefore_span_enter and wherefore_span_leave. Text is UTF-8. Structures that may
 * grow begin with their size; fields are only ever added at the end.
 *
 * Any pointer may be NULL. Unless a function says otherwise, a NULL output is not written, NULL
 * text is empty, a NULL span context is all zero, and NULL attributes are none. A function that
 * needs the pointer does nothing, or returns WHEREFORE_INVALID if it returns a status.
 */
#ifndef WHEREFORE_WHEREFORE_H_
#define WHEREFORE_WHEREFORE_H_

#include <stddef.h>
#include <stdint.h>

#define WHEREFORE_API __attribute__((visibility("default")))
/* Called so often that going through the procedure linkage table would cost too much. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define WHEREFORE_HOT __attribute__((noplt))
#endif
#endif
#ifndef WHEREFORE_HOT
#define WHEREFORE_HOT
#endif

#ifdef __cplusplus
#define WHEREFORE_NOEXCEPT noexcept
extern "C" {
#else
#define WHEREFORE_NOEXCEPT
#endif

enum wherefore_status {
  WHEREFORE_OK = 0,
  WHEREFORE_INVALID = 1,         /* an argument makes no sense */
  WHEREFORE_ALREADY_RUNNING = 2, /* start: called before; the profiler keeps running */
  WHEREFORE_NOT_RUNNING = 3,
  WHEREFORE_UNAVAILABLE = 4, /* cannot work in this process; the log says why */
  WHEREFORE_TIMED_OUT = 5,
  WHEREFORE_DISABLED = 6, /* OTEL_SDK_DISABLED */
  WHEREFORE_FAILED = 7    /* the system refused; the log says what */
};

/* --- start and stop ----------------------------------------------------------------------- */

/* What is measured, and the unit of its rate. A rate outside the range given here is ignored, with
 * a warning. */
enum wherefore_type {
  WHEREFORE_CPU = 0,     /* samples per second, 0.001 to 10000 */
  WHEREFORE_WALL = 1,    /* the same */
  WHEREFORE_OFF_CPU = 2, /* the same */
  WHEREFORE_HEAP = 3,    /* bytes between two samples, 1 to 1e12 */
  WHEREFORE_MUTEX = 4,   /* nanoseconds of waiting between two samples, up to a day */
  WHEREFORE_BLOCK = 5,   /* the same */
  WHEREFORE_THREADS = 6, /* seconds between two snapshots, 0.1 to a day */
  WHEREFORE_TYPE_COUNT = 7
};

struct wherefore_attribute {
  const char* key;
  const char* value;
};

struct wherefore_type_options {
  int32_t enabled; /* 0: not set; 1: on; -1: off */
  int32_t reserved;
  double rate; /* 0: not set */
};

/* Zero means "not set" everywhere: the value then comes from the environment, else from the
 * configuration file, else it is the default (docs/sdk.md). So: memset to 0, set `size`, set what
 * you need. Pointers are not used after the call. */
struct wherefore_options {
  size_t size; /* sizeof(struct wherefore_options) */
  const char* service_name;
  const struct wherefore_attribute* resource;
  size_t resource_count;
  const char* endpoint;                      /* "http://collector:4318" */
  const struct wherefore_attribute* headers; /* sent with every request */
  size_t headers_count;
  uint32_t timeout_ms;
  uint32_t upload_interval_ms;
  struct wherefore_type_options types[WHEREFORE_TYPE_COUNT];
  uint32_t max_stack_depth;
  int32_t manual_start;    /* 1: nothing is sampled until you ask for it */
  double max_overhead;     /* 0.01 = 1 % */
  const char* config_file; /* instead of WHEREFORE_CONFIG */
  const char* output_file; /* OTLP requests go there instead of to the endpoint */
  const char* pprof;       /* "6060", "127.0.0.1:6060": serve /debug/pprof/ */
};

/* With NULL options the environment and the file decide everything. A profiler that was started by
 * LD_PRELOAD is taken over: it continues with these options. */
WHEREFORE_API int wherefore_start(const struct wherefore_options* options) WHEREFORE_NOEXCEPT;
/* Sends what was sampled, waits no longer than the export timeout, and stops. */
WHEREFORE_API int wherefore_stop(void) WHEREFORE_NOEXCEPT;
/* Sends what was sampled so far and waits for the answer. */
WHEREFORE_API int wherefore_flush(uint32_t timeout_ms) WHEREFORE_NOEXCEPT;
WHEREFORE_API int wherefore_running(void) WHEREFORE_NOEXCEPT;

WHEREFORE_API int wherefore_set_enabled(int type, int enabled) WHEREFORE_NOEXCEPT;
/* WHEREFORE_INVALID: the rate is out of range for this type, and is not changed. */
WHEREFORE_API int wherefore_set_rate(int type, double rate) WHEREFORE_NOEXCEPT;

struct wherefore_type_state {
  size_t size; /* sizeof(struct wherefore_type_state) */
  int32_t on;
  int32_t reserved;
  double rate;   /* in force now */
  char why[160]; /* when off: why; cut to fit */
};
/* WHEREFORE_NOT_RUNNING: the type is off; `why` says so too. */
WHEREFORE_API int wherefore_get_type_state(int type,
                                           struct wherefore_type_state* out) WHEREFORE_NOEXCEPT;

/* A short English text for a status. */
WHEREFORE_API const char* wherefore_status_text(int status) WHEREFORE_NOEXCEPT;
/* "0.1.0" */
WHEREFORE_API const char* wherefore_version(void) WHEREFORE_NOEXCEPT;

/* --- one operation by hand ---------------------------------------------------------------- */

/* Samples of the whole process between begin and end, in addition to the continuous profiles.
 * WHEREFORE_NOT_RUNNING without a running profiler. `types` is a bit set: 1 << WHEREFORE_CPU.
 * `operation` is never 0 on success. */
WHEREFORE_API int wherefore_operation_begin(unsigned types, uint64_t* operation) WHEREFORE_NOEXCEPT;
/* Writes a gzip-compressed pprof file to `path`; NULL discards the samples. */
WHEREFORE_API int wherefore_operation_end(uint64_t operation, const char* path) WHEREFORE_NOEXCEPT;

/* --- which span and which labels this thread works for ------------------------------------- */

struct wherefore_span_context {
  uint8_t trace_id[16]; /* W3C byte order; all zero: none */
  uint8_t span_id[8];
  uint8_t flags; /* W3C: 1 = sampled */
};

/* What a scope puts back when it ends; 28 bytes of the thread's record. */
struct wherefore_saved_span {
  unsigned char bytes[28];
};
/* From now on this thread works for that span, or for none if it is NULL. `saved` receives what was
 * there before; pass NULL if it will not be restored. */
WHEREFORE_API WHEREFORE_HOT void wherefore_span_enter(const struct wherefore_span_context* span,
                                                      struct wherefore_saved_span* saved)
    WHEREFORE_NOEXCEPT;
/* On the same thread, in reverse order. NULL does nothing. */
WHEREFORE_API WHEREFORE_HOT void wherefore_span_leave(const struct wherefore_saved_span* saved)
    WHEREFORE_NOEXCEPT;
/* The span this thread works for now. Returns 1 if there is one. */
WHEREFORE_API int wherefore_span_current(struct wherefore_span_context* out) WHEREFORE_NOEXCEPT;

/* The number of a label name, the same for every thread and call; -1 when 256 names are in use.
 * Ask once and keep it. */
WHEREFORE_API int wherefore_label_key(const char* name) WHEREFORE_NOEXCEPT;
/* Adds a label to this thread. Returns what wherefore_label_leave takes; -1 when the value does not
 * fit (255 bytes a value, 228 bytes a thread) and nothing was added. */
WHEREFORE_API WHEREFORE_HOT int wherefore_label_enter(int key, const char* value,
                                                      size_t length) WHEREFORE_NOEXCEPT;
/* On the same thread, in reverse order. */
WHEREFORE_API WHEREFORE_HOT void wherefore_label_leave(int saved) WHEREFORE_NOEXCEPT;

/* Everything a thread works for (span and labels), to carry it to another thread or across a
 * suspension. */
#define WHEREFORE_CONTEXT_BYTES 256
struct wherefore_context {
  unsigned char bytes[WHEREFORE_CONTEXT_BYTES];
};
WHEREFORE_API void wherefore_context_save(struct wherefore_context* out) WHEREFORE_NOEXCEPT;
WHEREFORE_API void wherefore_context_restore(const struct wherefore_context* context)
    WHEREFORE_NOEXCEPT;

/* --- a small tracer ------------------------------------------------------------------------ */

struct wherefore_span; /* one span that has begun; belongs to one thread at a time */

enum wherefore_span_kind {
  WHEREFORE_INTERNAL = 1,
  WHEREFORE_SERVER = 2,
  WHEREFORE_CLIENT = 3,
  WHEREFORE_PRODUCER = 4,
  WHEREFORE_CONSUMER = 5
};

/* With a NULL parent the parent is the span this thread works for, or else a new trace begins.
 * Never fails: if the span cannot be recorded the result is NULL, which every function accepts.
 * Does not enter the span. */
WHEREFORE_API struct wherefore_span* wherefore_span_start(
    const char* name, int kind, const struct wherefore_span_context* parent) WHEREFORE_NOEXCEPT;
/* The ids of a span; zeros for NULL. */
WHEREFORE_API void wherefore_span_get_context(
    const struct wherefore_span* span, struct wherefore_span_context* out) WHEREFORE_NOEXCEPT;
WHEREFORE_API void wherefore_span_set_text(struct wherefore_span* span, const char* key,
                                           const char* value, size_t length) WHEREFORE_NOEXCEPT;
WHEREFORE_API void wherefore_span_set_int(struct wherefore_span* span, const char* key,
                                          int64_t value) WHEREFORE_NOEXCEPT;
WHEREFORE_API void wherefore_span_set_double(struct wherefore_span* span, const char* key,
                                             double value) WHEREFORE_NOEXCEPT;
WHEREFORE_API void wherefore_span_set_bool(struct wherefore_span* span, const char* key,
                                           int value) WHEREFORE_NOEXCEPT;
WHEREFORE_API void wherefore_span_add_event(struct wherefore_span* span, const char* name,
                                            const struct wherefore_attribute* attributes,
                                            size_t count) WHEREFORE_NOEXCEPT;
/* code: 0 unset, 1 ok, 2 error. */
WHEREFORE_API void wherefore_span_set_status(struct wherefore_span* span, int code,
                                             const char* message) WHEREFORE_NOEXCEPT;
/* Adds runtime.heap_alloc and runtime.heap_objects, memory in use estimated from the heap samples,
 * and runtime.threads, the program's threads without the profiler's, all as they are at this call.
 * What is not known is not added: the heap while it is not profiled, threads without /proc. */
WHEREFORE_API void wherefore_span_add_runtime_statistics(struct wherefore_span* span)
    WHEREFORE_NOEXCEPT;
/* Ends the span and frees it. */
WHEREFORE_API void wherefore_span_end(struct wherefore_span* span) WHEREFORE_NOEXCEPT;

/* W3C traceparent. Parse: returns 1 if `text` is valid. Format: writes 55 characters and a NUL; for
 * a NULL span the NUL alone. */
WHEREFORE_API int wherefore_traceparent_parse(
    const char* text, size_t length, struct wherefore_span_context* out) WHEREFORE_NOEXCEPT;
WHEREFORE_API void wherefore_traceparent_format(const struct wherefore_span_context* span,
                                                char out[56]) WHEREFORE_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WHEREFORE_WHEREFORE_H_ */
