// The C++ headers are C++17: compiled as such, by the build's compiler, with every warning an
// error.
#include "wherefore/context.h"
#include "wherefore/coroutine.h"
#include "wherefore/opentelemetry.h"
#include "wherefore/profiler.h"
#include "wherefore/tracer.h"

static_assert(__cplusplus == 201703L);
