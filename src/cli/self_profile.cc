#include "cli/self_profile.h"

#include <dlfcn.h>

#include <utility>

#include <fmt/format.h>

#include "cli/program.h"
#include "cli/version.h"
#include "wherefore/wherefore.h"

namespace wherefore::cli {

Result<> SelfProfile::Start(std::uint16_t port, const std::string& token) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string path, FindLibrary(""));
  // Never closed: its threads and handlers live as long as the process.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error(Code::kUnavailable, fmt::format("--profile-self: {}", dlerror()));
  }
  const auto start =
      reinterpret_cast<decltype(&wherefore_start)>(dlsym(library, "wherefore_start"));
  const auto stop = reinterpret_cast<decltype(&wherefore_stop)>(dlsym(library, "wherefore_stop"));
  const auto text =
      reinterpret_cast<decltype(&wherefore_status_text)>(dlsym(library, "wherefore_status_text"));
  if (start == nullptr || stop == nullptr || text == nullptr) {
    return Error(Code::kUnavailable, fmt::format("--profile-self: {} is of another version", path));
  }
  const std::string endpoint = fmt::format("http://127.0.0.1:{}", port);
  const std::string bearer = "Bearer " + token;
  const wherefore_attribute version{.key = "service.version", .value = kVersion};
  const wherefore_attribute authorization{.key = "Authorization", .value = bearer.c_str()};
  wherefore_options options{};
  options.size = sizeof(options);
  options.service_name = "wherefore";
  options.resource = &version;
  options.resource_count = 1;
  options.endpoint = endpoint.c_str();
  options.headers = &authorization;
  options.headers_count = token.empty() ? 0 : 1;
  options.upload_interval_ms = 10'000;
  // Under `wherefore run` it is running already, and goes on with these options.
  if (const int status = start(&options); status != WHEREFORE_OK) {
    return Error(Code::kUnavailable, fmt::format("--profile-self: {}", text(status)));
  }
  stop_ = stop;
  return {};
}

void SelfProfile::Stop() {
  if (auto* const stop = std::exchange(stop_, nullptr)) stop();
}

}  // namespace wherefore::cli
