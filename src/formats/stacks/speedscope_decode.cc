// speedscope's JSON -> Batch: "sampled" and "evented" profiles. For what always holds see
// formats.h.
#include <simdjson.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "formats/formats.h"
#include "formats/stacks/stack_batch.h"
#include "formats/wire/gzip.h"

namespace wherefore::formats {

namespace {

using profile::Id;
using simdjson::dom::array;
using simdjson::dom::element;

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;  // 0: not a time
};
constexpr Unit kUnits[] = {{"none", 0},
                           {"bytes", 0},
                           {"nanoseconds", 1},
                           {"microseconds", 1'000},
                           {"milliseconds", 1'000'000},
                           {"seconds", 1'000'000'000}};

class SpeedscopeDecoder {
 public:
  SpeedscopeDecoder(std::shared_ptr<const std::string> json, const StacksContext& context)
      : batch_(std::move(json)), context_(context) {}

  Result<DecodedProfiles> Run(const element& root) {
    if (!ReadFrames(root)) return Failure();
    array profiles;
    if (root["profiles"].get(profiles) != simdjson::SUCCESS || profiles.size() == 0) {
      path_ = "profiles";
      return Fail("an array with at least one profile is expected"), Failure();
    }
    std::size_t index = 0;
    for (const element profile : profiles) {
      path_ = fmt::format("profiles[{}]", index++);
      if (!ReadProfile(profile, profiles.size() > 1)) return Failure();
    }
    return batch_.Take(context_);
  }

 private:
  bool Fail(std::string_view reason) {
    reason_ = reason;
    return false;
  }
  [[nodiscard]] Error Failure() const {
    return {Code::kCorrupt, fmt::format("{}: {}", path_, reason_)};
  }

  bool ReadFrames(const element& root) {
    path_ = "shared.frames";
    array frames;
    if (root["shared"]["frames"].get(frames) != simdjson::SUCCESS) return Fail("is missing");
    for (const element frame : frames) {
      std::string_view name;
      if (frame["name"].get(name) != simdjson::SUCCESS) return Fail("a frame has no name");
      // The parser's text is temporary, so the Batch needs a copy.
      frames_.push_back(batch_.OwnFrame(name));
    }
    return true;
  }

  bool ReadProfile(const element& profile, bool titled) {
    std::string_view type;
    std::string_view unit_name;
    std::string_view title;
    if (profile["type"].get(type) != simdjson::SUCCESS) return Fail("it has no type");
    if (profile["unit"].get(unit_name) != simdjson::SUCCESS) unit_name = "none";
    if (profile["name"].get(title) != simdjson::SUCCESS) title = "";
    const auto* unit = std::ranges::find(kUnits, unit_name, &Unit::name);
    if (unit == std::end(kUnits)) return Fail(fmt::format("unknown unit \"{}\"", unit_name));
    unit_ns_ = unit->nanoseconds == 0 ? 1 : unit->nanoseconds;
    StacksContext context = context_;
    if (unit->nanoseconds != 0) {
      context.multiplier = 1;
    } else if (unit_name == "bytes") {
      context.name = "memory";
      context.type = "samples";
      context.unit = "bytes";
      context.period_type = context.period_unit = "";
      context.period = 0;
      context.multiplier = 1;
    }
    const bool read = type == "sampled"   ? ReadSampled(profile)
                      : type == "evented" ? ReadEvented(profile)
                                          : Fail(fmt::format("unknown type \"{}\"", type));
    if (!read) return false;
    if (const Result<> ended = batch_.EndProfile(context, titled ? title : ""); !ended) {
      return Fail(ended.error().message());
    }
    return true;
  }

  // Converts a value in the file's unit to a whole number in ours.
  bool Number(const element& json, std::int64_t& out) {
    if (std::int64_t whole = 0; json.get(whole) == simdjson::SUCCESS) {
      return !__builtin_mul_overflow(whole, unit_ns_, &out) || Fail("a number is too large");
    }
    double real = 0;
    if (json.get(real) != simdjson::SUCCESS) return Fail("a number is expected");
    real = std::round(real * static_cast<double>(unit_ns_));
    if (!(std::abs(real) < 9.2e18)) return Fail("a number is too large");
    out = static_cast<std::int64_t>(real);
    return true;
  }
  bool FrameAt(const element& json, Id& out) {
    std::uint64_t index = 0;
    if (json.get(index) != simdjson::SUCCESS || index >= frames_.size()) {
      return Fail(fmt::format("a frame is not one of the {} in shared.frames", frames_.size()));
    }
    out = frames_[index];
    return true;
  }

  bool ReadSampled(const element& profile) {
    array samples;
    array weights;
    if (profile["samples"].get(samples) != simdjson::SUCCESS) return Fail("it has no samples");
    if (profile["weights"].get(weights) != simdjson::SUCCESS) return Fail("it has no weights");
    if (samples.size() != weights.size()) return Fail("as many weights as samples are expected");
    auto weight = weights.begin();
    for (const element sample : samples) {
      std::int64_t value = 0;
      array stack;
      if (!Number(*weight, value)) return false;
      ++weight;
      if (sample.get(stack) != simdjson::SUCCESS) return Fail("a sample is not an array of frames");
      path_ids_.clear();
      for (const element frame : stack) {
        if (!FrameAt(frame, path_ids_.emplace_back())) return false;
      }
      std::ranges::reverse(path_ids_);  // root first in the file
      batch_.Add(path_ids_, value);
    }
    return true;
  }

  // The time between two events belongs to the stack that is open in between.
  bool ReadEvented(const element& profile) {
    array events;
    if (profile["events"].get(events) != simdjson::SUCCESS) return Fail("it has no events");
    nodes_.assign(1, {});
    children_.clear();
    std::size_t node = 0;
    std::optional<std::int64_t> last;
    for (const element event : events) {
      std::int64_t at = 0;
      std::string_view type;
      Id frame = 0;
      element at_json;
      element frame_json;
      if (event["at"].get(at_json) != simdjson::SUCCESS || !Number(at_json, at) ||
          event["frame"].get(frame_json) != simdjson::SUCCESS || !FrameAt(frame_json, frame) ||
          event["type"].get(type) != simdjson::SUCCESS) {
        return Fail("an event needs type, frame and at");
      }
      if (last && at < *last) return Fail("events are not in order of time");
      if (last) nodes_[node].self += at - *last;
      last = at;
      if (type == "O") {
        node = Child(node, frame);
      } else if (node == 0 || nodes_[node].frame != frame) {
        return Fail("a frame is closed that is not the innermost open one");
      } else {
        node = nodes_[node].parent;
      }
    }
    return node == 0 ? AddNodes() : Fail("a frame is never closed");
  }

  std::size_t Child(std::size_t parent, Id frame) {
    const auto [it, added] = children_.try_emplace({parent, frame}, nodes_.size());
    if (added) nodes_.push_back({parent, frame, 0});
    return it->second;
  }
  bool AddNodes() {
    for (std::size_t node = 1; node < nodes_.size(); ++node) {
      if (nodes_[node].self == 0) continue;
      path_ids_.clear();
      for (std::size_t n = node; n != 0; n = nodes_[n].parent) path_ids_.push_back(nodes_[n].frame);
      batch_.Add(path_ids_, nodes_[node].self);
      if (batch_.TooLarge()) return Fail("the stacks written out would be too large");
    }
    return true;
  }

  struct Node {
    std::size_t parent = 0;
    Id frame = 0;
    std::int64_t self = 0;
  };
  StackBatch batch_;
  const StacksContext& context_;
  std::vector<Id> frames_;
  std::vector<Id> path_ids_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::size_t, Id>, std::size_t> children_;
  std::int64_t unit_ns_ = 1;
  std::string path_;
  std::string reason_;
};

}  // namespace

Result<DecodedProfiles> DecodeSpeedscope(const std::shared_ptr<const std::string>& json,
                                         const StacksContext& context) {
  constexpr std::size_t kMaxDepth = 64;
  simdjson::dom::parser parser;
  if (parser.allocate(std::max<std::size_t>(json->size(), 64), kMaxDepth) != simdjson::SUCCESS) {
    return Error(Code::kLimit, "speedscope: the file is too large");
  }
  element root;
  const simdjson::error_code parsed = parser.parse(json->data(), json->size()).get(root);
  if (parsed != simdjson::SUCCESS) {
    return Error(Code::kCorrupt, fmt::format("JSON: {}", simdjson::error_message(parsed)));
  }
  if (!root.is_object()) return Error(Code::kCorrupt, "JSON: an object is expected");
  return SpeedscopeDecoder(json, context).Run(root);
}

}  // namespace wherefore::formats
