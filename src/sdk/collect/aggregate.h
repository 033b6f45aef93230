// Aggregate: events since the last export, summed by stack, span and labels; and their way into a
// profile::Batch.
//
// Guarded by the collector's lock. Frames are kept as (module, address in its file), never as
// addresses of this process, so a module may go and another take its place. Stacks of live heap
// samples stay over exports; everything else is forgotten when nobody refers to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/batch.h"
#include "sdk/collect/batch_writer.h"
#include "sdk/sample/event.h"
#include "sdk/sample/event_queue.h"
#include "sdk/unwind/modules.h"

namespace wherefore::sdk {

class Aggregate {
 public:
  explicit Aggregate(Modules& modules);

  // Which series are on: events only feed those.
  void Enable(Series series, bool on) { enabled_[Index(series)] = on; }
  [[nodiscard]] bool enabled(Series series) const { return enabled_[Index(series)]; }
  // Names of the label keys by their index in the thread context.
  void SetLabelKeys(std::vector<std::string> keys) { label_keys_ = std::move(keys); }

  void Add(const Event& event);
  // Events whose stacks are not known: counted under [lost samples].
  void AddLost(const EventQueue::Lost& lost);
  // Adds what is known without an event: the profiler's own cost.
  void AddKnown(Series series, std::vector<Frame> stack, std::int64_t value);

  // Everything since the last call, and the heap as it is now. The Batch's resource and scope are
  // the caller's to fill in. Profiles without samples are left out.
  [[nodiscard]] profile::Batch Take(const Window& window);
  // The same, and nothing is forgotten; all of it, or one series. Of more than `most` samples the
  // largest are written and the others add up to [other].
  [[nodiscard]] profile::Batch Peek(const Window& window);
  [[nodiscard]] profile::Batch Peek(Series series, const Window& window,
                                    std::size_t most = SIZE_MAX);
  // The enabled series, each without a sample: what to answer when nothing has been seen.
  [[nodiscard]] profile::Batch Empty(const Window& window) const;
  [[nodiscard]] profile::Batch Empty(Series series, const Window& window) const;
  // There is not a sample in any series, and no heap in use that was sampled.
  [[nodiscard]] bool nothing();
  [[nodiscard]] std::size_t size(Series series) const { return sums_[Index(series)].size(); }
  // Something was unloaded: reads its names now, since its file may be replaced.
  void NameUnloaded();
  // Forgets live samples that were freed, so as not to keep them until the next export.
  void DropFreed();
  // What Take forgets.
  void Forget();

  // Samples of traces that `keeps` refuses lose their link; they still count. The next profiles of
  // a series that lost one say so.
  void FilterLinks(const std::function<bool(const profile::TraceId&)>& keeps);

  // Trace and CPU time of every sum that has a link.
  void ForLinkedCpu(
      const std::function<void(const profile::TraceId&, std::int64_t cpu_ns)>& take) const;

  // Forgets what was gathered for series that are off now.
  void ForgetDisabled();

  // In a forked child: sums are the parent's; live heap samples are the child's too.
  void ForgetSums();

 private:
  using StackId = std::uint32_t;

  struct Key {
    StackId stack = 0;
    std::uint32_t link = 0;
    std::uint32_t labels = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      return (k.stack * 0x9e3779b97f4a7c15ULL) ^ (k.link * 0xc2b2ae3d27d4eb4fULL) ^ k.labels;
    }
  };
  struct Sum {
    std::int64_t value = 0;
    double count = 0;
    std::uint32_t seen = 0;  // events
    double distance = 0;     // the distances these were taken at, added up
    double squares = 0;      // and their squares

    void Add(const Sum& more);
  };
  using Sums = std::unordered_map<Key, Sum, KeyHash>;
  struct Live {
    Key key;
    std::uint32_t slot = 0;
    std::uint64_t id = 0;
    std::int64_t bytes = 0;
    double objects = 0;
    double distance = 0;
  };
  static std::size_t Index(Series series) { return static_cast<std::size_t>(series); }
  class Observations;
  static Sum OneEvent(std::int64_t value, double count, double distance = 1);
  static Sum Looks(std::int64_t value, double count, std::uint32_t looks);
  // To every series that such an event feeds but those of the heap.
  void AddTimes(const Event& event, const Key& key, const Sum& time, const Sum& waits);
  void AddTo(Series series, const Key& key, const Sum& sum);
  StackId InternStack(const Event& event);
  StackId InternFrames(std::vector<Frame> frames);
  std::uint32_t InternLink(const Event& event);
  std::uint32_t InternLabels(const Event& event, std::string_view wait);
  void WriteSeries(BatchWriter& writer, Series series, const Window& window, std::size_t most);
  void WriteSample(BatchWriter& writer, const Key& key, const Sum& sum,
                   std::uint32_t observations) const;
  Sums InUseSums();
  // Before a series is written: names are read for all its samples at once.
  void Prepare(Series series);
  void ExpectNames(Series series);
  // Forgets stacks nobody refers to, when there are many.
  void ForgetUnused();

  Modules& modules_;
  std::array<bool, kSeriesCount> enabled_ = {};
  std::array<Sums, kSeriesCount> sums_;
  std::array<bool, kSeriesCount> reduced_ = {};  // links of these sums were taken away
  std::vector<Live> live_;

  std::vector<std::vector<Frame>> stacks_;
  std::unordered_map<std::string, StackId> stack_ids_;  // by the bytes of its frames
  std::vector<profile::Link> links_;
  std::unordered_map<std::string, std::uint32_t> link_ids_;
  std::vector<Labels> labels_;
  std::unordered_map<std::string, std::uint32_t> label_ids_;
  std::vector<std::string> label_keys_;
};

}  // namespace wherefore::sdk
