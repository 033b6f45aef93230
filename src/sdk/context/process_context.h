// OpenTelemetry's process context (OTEP 4719): who this process is, readable from outside.
//
// A small mapping named OTEL_CTX holds a header; it points to a protobuf message with the resource
// attributes and the names of thread labels (context.h). Readers find the mapping in
// /proc/<pid>/maps. It does not survive a fork: a child publishes its own.
//
// Any thread; not in signal handlers. One context per process: somebody else's is left alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sdk/context/resource.h"

namespace wherefore::sdk {

// Publishes, or replaces what was published. kUnsupported when the kernel refuses, or another SDK
// in this process was first.
[[nodiscard]] Result<> PublishProcessContext(const ResourceAttributes& resource,
                                             const std::vector<std::string>& label_keys);
// The same resource with other keys; nothing happens when nothing is published.
[[nodiscard]] Result<> UpdateProcessContext(const std::vector<std::string>& label_keys);
// Held over a fork. The child's unlock also forgets the parent's mapping, which is not there.
void LockProcessContext();
void UnlockProcessContext(bool in_child);

// The message a header points to.
[[nodiscard]] std::string EncodeProcessContext(const ResourceAttributes& resource,
                                               const std::vector<std::string>& label_keys);

}  // namespace wherefore::sdk
