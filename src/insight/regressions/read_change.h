// What a person says to a regression, as JSON. Pure but for the clock; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "insight/regressions/watch.h"

namespace wherefore::insight {

// `json`: {"why", "by", "until"}, or nothing. Only a mute has an end, and it must say why.
[[nodiscard]] Result<RegressionChange> ReadRegressionChange(RegressionState state,
                                                            std::string_view json,
                                                            std::int64_t now_ns);

}  // namespace wherefore::insight
