// Names of classes that a JVM makes up while it runs carry numbers that differ from process to
// process; here they become names that can be added up. Pure functions; any thread.
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

// A thread's name as a label: numbers become '*', so that a pool of threads is one value
// ("pool-*-thread-*"). Those inside a word stay: "C2 CompilerThread*".
[[nodiscard]] std::string ThreadGroupName(std::string_view name);

}  // namespace wherefore::formats
