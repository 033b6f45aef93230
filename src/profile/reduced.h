// The mark of profiles from which links to traces were taken away before they got here.
//
// An OTLP profile attribute. `conditional`: a condition on requests decided, so the links that are
// left are those of unusual ones. `shed`: the server had too much to do. It changes from one
// profile of a series to the next, so the store keeps it beside the series and not as a label of
// it.
#pragma once

#include <string_view>

namespace wherefore::profile {

inline constexpr std::string_view kReducedKey = "wherefore.profile.reduced";
inline constexpr std::string_view kReducedConditional = "conditional";
inline constexpr std::string_view kReducedShed = "shed";

}  // namespace wherefore::profile
