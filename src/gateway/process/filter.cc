#include "gateway/process/filter.h"

#include <algorithm>

#include "profile/unused.h"

namespace wherefore::gateway {
namespace {

bool AnyHolds(const std::vector<Condition>& conditions, const ConditionItem& item) {
  return std::ranges::any_of(conditions, [&](const Condition& c) { return c.Holds(item); });
}

}  // namespace

bool Filter::Drop(profile::SpanBatch& batch) const {
  return std::erase_if(batch.spans, [&](const profile::Span& span) {
           return AnyHolds(options_.spans,
                           {.pool = &batch,
                            .resource_attributes = batch.resources[span.resource].attributes,
                            .span = &span});
         }) > 0;
}

bool Filter::Drop(profile::Batch& batch) const {
  const std::size_t gone = std::erase_if(batch.profiles, [&](const profile::Profile& p) {
    return AnyHolds(options_.profiles,
                    {.pool = &batch,
                     .resource_attributes = batch.resources[p.resource].attributes,
                     .batch = &batch,
                     .profile = &p});
  });
  if (gone == 0) return false;
  profile::RemoveSamples(batch, std::vector<bool>(batch.samples.size()));  // of no profile any more
  profile::BlankUnused(batch);
  return true;
}

Result<> Filter::Process(profile::WriteRequest& request) {
  if (std::visit([this](auto& batch) { return Drop(batch); }, request.data)) {
    request.otlp_bytes.reset();
  }
  return {};
}

}  // namespace wherefore::gateway
