// Labels of an alert, what identifies it, and texts that name its values. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::insight {

using AlertLabels = std::map<std::string, std::string>;

// As Prometheus and Alertmanager compute it from the same labels.
[[nodiscard]] std::uint64_t FingerprintOf(const AlertLabels& labels);
[[nodiscard]] std::string FingerprintText(std::uint64_t fingerprint);

// What `{{ name }}` in an annotation stands for: $value, $low, $high, $bound, and $labels.NAME.
struct TemplateValues {
  std::string value;
  std::string low;
  std::string high;
  std::string bound;
  const AlertLabels& labels;
};
[[nodiscard]] Result<> CheckTemplate(std::string_view text);
// What is not known stays as it is.
[[nodiscard]] std::string Expand(std::string_view text, const TemplateValues& values);

}  // namespace wherefore::insight
