// Any bytes as the configuration file and as every variable of the environment: no crash, lines
// that exist, and options within their bounds.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sdk/config/load_options.h"
#include "sdk/config/remote_options.h"
#include "sdk/config/yaml.h"

namespace {

using wherefore::sdk::LoadedOptions;
using wherefore::sdk::Options;

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckLines(std::string_view text) {
  const auto lines = 1 + std::ranges::count(text, '\n');
  const wherefore::sdk::YamlDocument document = wherefore::sdk::ReadYaml(text);
  for (const auto& scalar : document.scalars) Require(scalar.line >= 1 && scalar.line <= lines);
  for (const auto& key : document.repeated)
    Require(!key.path.empty() && key.first_line >= 1 && key.first_line <= key.line &&
            key.line <= lines && key.scalar <= document.scalars.size());
  for (const auto& note : document.notes)
    Require(!note.text.empty() && note.line >= 1 && note.line <= lines);
}

void CheckOptions(const LoadedOptions& loaded) {
  const Options& o = loaded.options;
  Require(o.max_stack_depth >= 1 && o.max_stack_depth <= 1024);
  Require(o.max_profile_bytes >= 64'000 && o.upload_interval_ns > 0 && o.timeout_ns > 0);
  Require(o.max_overhead >= 0 && o.max_overhead <= 1 && o.trace_ratio >= 0 && o.trace_ratio <= 1);
  Require(o.pprof_port >= -1 && o.pprof_port <= 65535 && !o.service_name.empty());
  for (const auto& type : o.types) Require(type.rate > 0);
  Require(loaded.warnings.size() < 100);
}

// What a server chose is written as a file that says the same.
void CheckRemote(std::string_view text) {
  using wherefore::sdk::RemoteOptions;
  const auto remote = RemoteOptions::Read(text);
  if (!remote) return Require(!remote.error().message().empty());
  const Options chosen = remote->Over({});
  CheckOptions({.options =
                    [&] {
                      Options named = chosen;
                      named.service_name = "x";
                      return named;
                    }(),
                .warnings = {}});
  Require(chosen.max_overhead <= Options().max_overhead && chosen.endpoint == Options().endpoint);
  const auto again = RemoteOptions::Read(wherefore::sdk::WriteRemoteOptions(chosen));
  Require(again.has_value() && again->Over({}).enabled == chosen.enabled);
}

// A file that has no name, and its name.
class Memory {
 public:
  explicit Memory(std::string_view text) : fd_(memfd_create("options", MFD_CLOEXEC)) {
    Require(fd_ >= 0 && write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  ~Memory() { close(fd_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckLines(text);
  CheckRemote(text);
  const Memory file(text);
  const auto nothing = [](const char*) -> const char* { return nullptr; };
  CheckOptions(wherefore::sdk::LoadOptions(nothing, file.path()));
  const auto everything = [&text](const char* name) -> const char* {
    return std::string_view(name) == "WHEREFORE_CONFIG" ? nullptr : text.c_str();
  };
  CheckOptions(wherefore::sdk::LoadOptions(everything));
  return 0;
}
