#include "gateway/profiling/gate.h"

#include <algorithm>
#include <map>
#include <string>

#include "gateway/profiling/reduce.h"
#include "profile/reduced.h"
#include "profile/unused.h"

namespace wherefore::gateway {
namespace {

using profile::Batch;

ProfileLimits LimitsOf(const std::optional<ProfilingSettings>& settings) {
  if (!settings) return {};
  return {.max_stack_depth = settings->max_stack_depth,
          .max_profile_bytes = settings->max_profile_bytes};
}

}  // namespace

ProfilingGate::ProfilingGate(Profiling& profiling, const std::optional<ProfilingSettings>& settings,
                             profile::Sink* waiting, profile::Sink* next)
    : profiling_(profiling),
      limits_(LimitsOf(settings)),
      waiting_(waiting),
      next_(next),
      cut_stacks_(
          Metrics::Global().GetCounter("wherefore_profiling_cut_stacks_total",
                                       "Stacks that were deeper than profiling.max_stack_depth.")),
      cut_profiles_(Metrics::Global().GetCounter(
          "wherefore_profiling_cut_profiles_total",
          "Profiles that were larger than profiling.max_profile_size.")),
      shed_(Metrics::Global().GetCounter(
          "wherefore_shed_requests_total",
          "Requests whose detail was shed, or that were refused, because of too much load.",
          {{"what", "detail"}})),
      refused_(Metrics::Global().GetCounter(
          "wherefore_shed_requests_total",
          "Requests whose detail was shed, or that were refused, because of too much load.",
          {{"what", "profiles"}})) {}

void ProfilingGate::Write(profile::WriteRequest request,
                          std::function<void(Result<profile::WriteAnswer>)> done) {
  LeaveOut(request);
  if (std::get<Batch>(request.data).profiles.empty()) return done(std::move(request.decoded));
  const int level = profiling_.level();
  if (level > 1) {
    refused_.Add(1);
    return done(Error(Code::kLimit,
                      "the server has too much to do and takes no profiles now; send "
                      "them again later"));
  }
  Limit(request);
  // Differences of counters have neither links nor times worth the care.
  if (!request.counters) {
    const auto& links = std::get<Batch>(request.data).samples.link;
    const bool linked = std::ranges::any_of(links, [](profile::Id link) { return link != 0; });
    if (linked && waiting_ != nullptr) {
      return waiting_->Write(std::move(request), std::move(done));
    }
    Reduce(request, level);
  }
  next_->Write(std::move(request), std::move(done));
}

// Profiles of services that are off.
void ProfilingGate::LeaveOut(profile::WriteRequest& request) {
  ProfilingControl& control = profiling_.control();
  auto& batch = std::get<Batch>(request.data);
  std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> gone;
  std::erase_if(batch.profiles, [&](const profile::Profile& p) {
    const std::string_view service = profile::ServiceName(batch, batch.resources[p.resource]);
    if (control.IsOn(request.tenant_name, service)) return false;
    auto& [profiles, samples] = gone[std::string(service)];
    ++profiles;
    samples += p.sample_count;
    return true;
  });
  if (gone.empty()) return;
  for (const auto& [service, counts] : gone) {
    control.CountDropped(service, counts.first, counts.second);
  }
  request.otlp_bytes.reset();
  profile::RemoveSamples(batch, std::vector<bool>(batch.samples.size()));
  profile::BlankUnused(batch);
}

// Times of samples without links; while load is shed, links too.
void ProfilingGate::Reduce(profile::WriteRequest& request, int level) {
  if (level == 0 && waiting_ == nullptr) return;
  auto& batch = std::get<Batch>(request.data);
  const std::vector<bool> none(batch.links.size());
  if (!ReduceDetail(batch, none, level > 0 ? profile::kReducedShed : profile::kReducedConditional))
    return;
  if (level > 0) shed_.Add(1);
  request.otlp_bytes.reset();
}

void ProfilingGate::Limit(profile::WriteRequest& request) {
  const LimitedCounts counts = LimitProfiles(std::get<Batch>(request.data), limits_);
  if (!counts.changed()) return;
  cut_stacks_.Add(counts.stacks);
  cut_profiles_.Add(counts.profiles);
  request.otlp_bytes.reset();
}

}  // namespace wherefore::gateway
