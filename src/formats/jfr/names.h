// Classes that a JVM generates at run time have numbers in their names that differ between
// processes. These functions remove them, so that samples of the same code add up. Pure functions;
// any thread.
#pragma once

#include <string>
#include <string_view>

namespace wherefore::formats {

// The class (or library) name without what differs between runs; the same name when nothing does:
//   Main$$Lambda$172.0x00007f0a.., Main$$Lambda$124+0x../0x.., Main$$Lambda/0x..  Main$$Lambda_
//   jdk/internal/reflect/GeneratedMethodAccessor31    jdk/internal/reflect/GeneratedMethodAccessor_
//   Order$$EnhancerBySpringCGLIB$$1f2e                Order$$EnhancerBySpringCGLIB$$_
//   libzstd-jni-1.5.1-16931311898282279136.so         libzstd-jni-1.5.1-_.so
[[nodiscard]] std::string StableClassName(std::string_view name);

// A thread's name as a label: numbers become '*', so that a thread pool is one value
// ("pool-*-thread-*"), also at the end of a word: "C2 CompilerThread*".
[[nodiscard]] std::string ThreadGroupName(std::string_view name);

// The most such names per file: they become labels of series, and a program that names threads
// after requests must not flood these.
inline constexpr std::size_t kMaxThreadNames = 200;

}  // namespace wherefore::formats
