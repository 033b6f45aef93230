// The processor `redact`: replaces what must never leave, in every text of a request, before
// anything of it is stored, queued or logged.
//
// Of a function whose name or mangled name matches, both go; elsewhere the whole text, or the whole
// value of an attribute whose key or value matches, also inside lists and maps. Attached original
// files go always. `service.name` stays, and so do keys of attributes and names of types. Nothing
// that matched stays behind in the tables. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "gateway/process/processor.h"
#include "gateway/process/redact_rules.h"

namespace wherefore::gateway {

// Called for everything that goes: where it was, the text, the number of its pattern.
using RedactFound =
    std::function<void(std::string_view place, std::string_view text, std::size_t pattern)>;

// True if anything changed.
bool Redact(profile::Batch& batch, const RedactRules& rules, const RedactFound& found);
bool Redact(profile::SpanBatch& batch, const RedactRules& rules, const RedactFound& found);

class Redactor final : public Processor {
 public:
  // `id`: the processor's, for its counters.
  Redactor(const std::string& id, std::shared_ptr<const RedactRules> rules);
  Result<> Process(profile::WriteRequest& request) override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> facts() const override;

 private:
  const std::shared_ptr<const RedactRules> rules_;
  std::vector<Counter*> counters_;  // one per pattern
};

}  // namespace wherefore::gateway
