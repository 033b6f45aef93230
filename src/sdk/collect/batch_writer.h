// BatchWriter: sums of the aggregate -> profile::Batch, with names, modules and types as they are
// sent.
//
// One Batch per object: Begin a series, Add its samples, go on to the next, Finish. Collector
// thread. What always holds: the result passes `wherefore check`. Equal samples of a series are
// merged, and tables have neither duplicate nor unused entries.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/batch.h"
#include "sdk/unwind/modules.h"

namespace wherefore::sdk {

// The profiles we send. Some have two sample types (a sum and a count).
enum class Series : std::uint8_t {
  kCpu,
  kWall,
  kOffCpu,
  kAllocated,
  kInUse,
  kMutex,
  kBlock,
  kThreads
};
inline constexpr std::size_t kSeriesCount = 8;

struct Frame {
  std::uint64_t module = 0;  // of Modules
  std::uint64_t address = 0;
  bool operator==(const Frame&) const = default;
};
// Frames that are not code of the host: their address is an index into kFrameNames.
inline constexpr std::uint64_t kNoModule = ~0ULL;
inline constexpr std::string_view kFrameNames[] = {
    "[truncated]",        // root of a stack deeper than max_stack_depth
    "[incomplete]",       // root of a stack that could not be followed to its end
    "[running]",          // a thread that was on a CPU when threads were listed
    "[wherefore]",        // what the profiler itself used
    "[lost samples]",     // their number is known, their stacks are not
    "[wherefore hooks]",  // in place of a hooked function of ours that was running
    "collector",         "wall clock sampler",
    "exporter",      // these three below [wherefore]
    "[other]",       // small stacks of a profile that was too large
    "[recovered]"};  // the frame above it was found by searching the stack: unwind.h
inline constexpr Frame kTruncatedFrame = {.module = kNoModule, .address = 0};
inline constexpr Frame kIncompleteFrame = {.module = kNoModule, .address = 1};
inline constexpr Frame kRunningFrame = {.module = kNoModule, .address = 2};
inline constexpr Frame kProfilerFrame = {.module = kNoModule, .address = 3};
inline constexpr Frame kLostFrame = {.module = kNoModule, .address = 4};
inline constexpr Frame kHooksFrame = {.module = kNoModule, .address = 5};
inline constexpr Frame kCollectorFrame = {.module = kNoModule, .address = 6};
inline constexpr Frame kWallSamplerFrame = {.module = kNoModule, .address = 7};
inline constexpr Frame kExporterFrame = {.module = kNoModule, .address = 8};
inline constexpr Frame kOtherFrame = {.module = kNoModule, .address = 9};
inline constexpr Frame kRecoveredFrame = {.module = kNoModule, .address = 10};

using Labels = std::vector<std::pair<std::string, std::string>>;

// Distances between samples, by series.
using Periods = std::array<std::int64_t, kSeriesCount>;

struct Window {
  std::uint64_t start_ns = 0;  // of the wall clock
  std::uint64_t duration_ns = 0;
  Periods periods = {};
};

class BatchWriter {
 public:
  struct Sample {
    std::span<const Frame> stack;  // leaf first
    const profile::Link& link;     // all zero: none
    const Labels& labels;
    std::int64_t value = 0;
    std::int64_t count = 0;
    std::uint32_t observations = 0;
  };

  BatchWriter(Modules& modules, const Window& window) : modules_(modules), window_(window) {}

  // `reduced`: links of its samples were taken away by a condition; its profiles say so.
  void Begin(Series series, bool reduced = false);
  // Added to an earlier one of the series with the same stack, labels and link.
  void Add(const Sample& sample);
  // The profiles of a series without a sample, for those who ask for them by name.
  void AddEmpty(Series series);
  // Profiles without samples are left out. Resource and scope are the caller's to fill in.
  [[nodiscard]] profile::Batch Finish() &&;

 private:
  struct FrameHash {
    std::size_t operator()(const Frame& f) const {
      return (f.module * 0x9e3779b97f4a7c15ULL) ^ f.address;
    }
  };

  void End();
  void AppendProfiles();
  void PutProgramFirst();
  void PlaceInlineTexts();
  void AppendProfile(std::string_view type, std::string_view unit, std::uint32_t first);
  // These two are where texts of the host enter; what is not UTF-8 is replaced.
  profile::Id Text(std::string_view text);
  profile::Id AttributeOf(std::string_view key, std::string_view value);
  profile::Id FrameOf(const Frame& frame);
  profile::Id MappingOf(std::uint64_t module);
  void AddMapping(std::uint32_t module);
  profile::Id FunctionOf(const FunctionName& name);
  profile::Id StackOf(std::span<const Frame> frames);
  profile::Id LinkOf(const profile::Link& link);
  std::vector<profile::Id> LabelsOf(const Labels& labels);

  Modules& modules_;
  Window window_;
  profile::Batch batch_;
  Series series_ = Series::kCpu;
  bool reduced_ = false;                                    // the series is
  std::uint32_t first_ = 0;                                 // of the series' samples
  std::vector<std::int64_t> counts_;                        // of the same
  std::unordered_map<std::string, std::uint32_t> samples_;  // of the same, by what tells them apart
  std::vector<std::pair<profile::Id, std::string>> values_;  // of attributes, not yet in the Batch
  std::unordered_map<std::string, profile::Id> texts_;
  std::unordered_map<std::string, profile::Id> attributes_;
  std::unordered_map<std::string, profile::Id> functions_;
  std::unordered_map<std::string, profile::Id> stacks_;
  std::unordered_map<std::string, profile::Id> links_;
  std::unordered_map<std::uint64_t, profile::Id> mappings_;
  std::unordered_map<Frame, profile::Id, FrameHash> frames_;
};

}  // namespace wherefore::sdk
