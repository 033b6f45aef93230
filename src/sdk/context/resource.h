// Who this process is: the resource attributes that go with profiles, spans and the process
// context.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/batch.h"
#include "sdk/config/options.h"

namespace wherefore::sdk {

struct ResourceAttribute {
  std::string key;
  std::string text;
  std::int64_t number = 0;
  bool is_number = false;
};
using ResourceAttributes = std::vector<ResourceAttribute>;

// service.name, service.instance.id (made up anew by every call unless the options name one: one
// per process, so call again after fork), the options' attributes, process.*, host.name,
// telemetry.sdk.*.
[[nodiscard]] ResourceAttributes DescribeProcess(const Options& options);

// Appends the attributes to the pool and returns a resource that has them.
[[nodiscard]] profile::Resource AddResource(profile::TextPool& pool,
                                            const ResourceAttributes& attributes);

// "0.1.0"
[[nodiscard]] const char* LibraryVersion();

}  // namespace wherefore::sdk
