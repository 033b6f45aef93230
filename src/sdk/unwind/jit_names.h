// JitNames: what a just-in-time compiler in this process calls its functions.
//
// Compilers that are asked to (node --perf-basic-prof, java's perfmap, python -X perf) append a
// line "start size name" to /tmp/perf-PID.map for every function. Read when a name is asked for (in
// a forked child its own), at most once a second and only what is new. A file that is not ours, or
// no file, gives no names. Guarded by the collector's lock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace wherefore::sdk {

class JitNames {
 public:
  explicit JitNames(std::string folder = "/tmp") : folder_(std::move(folder)) {}

  // Empty where none is known. Valid until the next call.
  [[nodiscard]] std::string_view Find(std::uint64_t address);
  // Reads what was appended, even if the file was read less than a second ago.
  void Refresh();

 private:
  struct Function {
    std::uint64_t size = 0;
    std::string name;
  };

  void ReadAppended(int file, std::uint64_t size);
  void AddLine(std::string_view line);

  std::string folder_;
  std::map<std::uint64_t, Function> functions_;  // by start; the last one written counts
  std::uint64_t inode_ = 0;
  std::uint64_t read_ = 0;  // bytes of the file, whole lines
  std::int64_t refreshed_ns_ = 0;
};

}  // namespace wherefore::sdk
