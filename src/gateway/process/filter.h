// The processor `filter`: drops spans and profiles for which any of its conditions holds. Any
// thread.
#pragma once

#include <vector>

#include "gateway/process/condition.h"
#include "gateway/process/processor.h"

namespace wherefore::gateway {

class Filter final : public Processor {
 public:
  struct Options {
    std::vector<Condition> spans;
    std::vector<Condition> profiles;
  };
  explicit Filter(Options options) : options_(std::move(options)) {}
  Result<> Process(profile::WriteRequest& request) override;

 private:
  bool Drop(profile::SpanBatch& batch) const;
  bool Drop(profile::Batch& batch) const;

  const Options options_;
};

}  // namespace wherefore::gateway
