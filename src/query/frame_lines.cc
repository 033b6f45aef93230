#include "query/frame_lines.h"

#include <algorithm>
#include <map>

#include "base/clock.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kMaxTimeNs = 5 * kNsPerSecond;
constexpr std::int64_t kMaxNewsNs = kNsPerSecond / 5;

// What is to be asked about one module, from whatever mappings of it there are.
struct Unresolved {
  std::string_view path;
  std::vector<symbols::ModuleAddress> addresses;
  std::vector<std::size_t> frames;
};

bool HasLines(const store::FrameRow& frame) {
  return std::ranges::any_of(frame.lines, [](const store::LineRow& l) { return l.line != 0; });
}

// Senders that know where the module was mapped send addresses of their process, others those of
// the file.
symbols::ModuleAddress AddressIn(const store::MappingRow& mapping, std::uint64_t address) {
  if (address >= mapping.start && address < mapping.limit) {
    return {address - mapping.start + mapping.file_offset, true};
  }
  return {address, false};
}

bool IsBetter(const symbols::ResolvedFrame& resolved, const store::FrameRow& sent) {
  return sent.lines.empty() ||
         std::ranges::any_of(resolved, [](const symbols::ResolvedLine& l) { return l.line != 0; });
}

}  // namespace

FrameLines ResolveFrames(symbols::Symbolizer* symbolizer, std::span<const store::FrameRow> frames,
                         std::span<const store::MappingRow> mappings) {
  FrameLines out;
  if (symbolizer == nullptr) return out;
  std::map<std::string_view, Unresolved> modules;  // by build id
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const store::FrameRow& frame = frames[i];
    if (frame.address == 0 || frame.mapping == 0 || frame.mapping > mappings.size()) continue;
    const store::MappingRow& mapping = mappings[frame.mapping - 1];
    if (mapping.build_id.empty() || HasLines(frame)) continue;
    Unresolved& module = modules[mapping.build_id];
    module.path = mapping.file;
    module.addresses.push_back(AddressIn(mapping, frame.address));
    module.frames.push_back(i);
  }
  if (modules.empty()) return out;
  out.frames.resize(frames.size());
  const std::int64_t deadline = MonotonicNs() + kMaxTimeNs;
  for (const auto& [build_id, module] : modules) {
    auto answer = symbolizer->Resolve({build_id, module.path}, module.addresses, deadline);
    out.postponed |= answer.postponed;
    if (!answer.settled) {
      out.unsettled[std::string(build_id)] = {std::string(module.path), answer.version};
    }
    for (std::size_t k = 0; k < module.frames.size(); ++k) {
      const std::size_t frame = module.frames[k];
      if (answer.frames[k] && IsBetter(*answer.frames[k], frames[frame])) {
        out.frames[frame] = std::move(answer.frames[k]);
      }
    }
  }
  return out;
}

bool HasNews(symbols::Symbolizer* symbolizer, const UnsettledModules& modules) {
  const std::int64_t deadline = MonotonicNs() + kMaxNewsNs;
  return std::ranges::any_of(modules, [&](const auto& entry) {
    const auto& [build_id, module] = entry;
    return symbolizer->HasNews({build_id, module.path}, module.version, deadline);
  });
}

}  // namespace wherefore::query
