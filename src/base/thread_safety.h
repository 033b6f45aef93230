// GUARDED_BY and related annotations for clang's -Wthread-safety (tools/check_locks). They expand
// to nothing for other compilers.
#pragma once

#if defined(__clang__)
#define WHEREFORE_TSA(x) __attribute__((x))
#else
#define WHEREFORE_TSA(x)
#endif
#undef GUARDED_BY  // abseil defines the same
#define GUARDED_BY(x) WHEREFORE_TSA(guarded_by(x))
#define REQUIRES(...) WHEREFORE_TSA(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) WHEREFORE_TSA(locks_excluded(__VA_ARGS__))
