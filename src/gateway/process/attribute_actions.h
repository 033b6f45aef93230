// The processors `resource` and `attributes`: a list of actions on attributes, one after the other.
// `resource` works on the attributes of resources, `attributes` on those of spans and of samples.
//
// Any thread. A value that an action takes from another attribute is read from the same set; if it
// is missing there and no default_value is given, the action does nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gateway/process/processor.h"

namespace re2 {
class RE2;
}

namespace wherefore::gateway {

struct AttributeAction {
  enum class Kind : std::uint8_t { kInsert, kUpdate, kUpsert, kDelete, kHash, kExtract, kConvert };
  using Value = std::variant<std::string, bool, std::int64_t, double>;

  Kind kind = Kind::kUpsert;
  std::string key;
  std::optional<Value> value;
  std::string from_attribute;
  std::optional<Value> default_value;       // if from_attribute is missing
  std::shared_ptr<const re2::RE2> pattern;  // kDelete: of keys; kExtract: of the value
  profile::Value::Kind converted_type{};    // kConvert: kString, kInt or kDouble
};

class AttributeActions final : public Processor {
 public:
  enum class Where : std::uint8_t { kResources, kItems };  // items: spans, samples

  AttributeActions(Where where, std::vector<AttributeAction> actions)
      : where_(where), actions_(std::move(actions)) {}
  Result<> Process(profile::WriteRequest& request) override;

 private:
  const Where where_;
  const std::vector<AttributeAction> actions_;
};

}  // namespace wherefore::gateway
