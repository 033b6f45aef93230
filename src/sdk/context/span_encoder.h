// Finished spans -> one OTLP traces request. Pure function; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sdk/context/resource.h"
#include "sdk/context/span.h"

namespace wherefore::sdk {

[[nodiscard]] std::string EncodeSpans(const std::vector<std::unique_ptr<wherefore_span>>& spans,
                                      const ResourceAttributes& resource);

}  // namespace wherefore::sdk
