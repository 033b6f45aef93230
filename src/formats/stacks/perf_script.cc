#include "formats/stacks/perf_script.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "formats/jfr/names.h"
#include "formats/stacks/stack_batch.h"
#include "formats/wire/notes.h"
#include "formats/wire/size32.h"
#include "formats/wire/utf8.h"

namespace wherefore::formats {
namespace {

using profile::Id;
using profile::Range;

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kUnknown = "[unknown]";

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// Removes the first word from `text` and returns it.
std::string_view NextWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

// Removes the first line from `text` and returns it.
std::string_view NextLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

bool IsNumber(std::string_view word) {
  return !word.empty() && word.find_first_not_of(kDigits) == std::string_view::npos;
}

// "12", "12/34", "-1".
bool IsThread(std::string_view word) {
  const std::size_t slash = word.find('/');
  const auto number = [](std::string_view n) { return IsNumber(n.substr(n.starts_with('-'))); };
  return number(word.substr(0, slash)) &&
         (slash == std::string_view::npos || number(word.substr(slash + 1)));
}

// "16449.539903:" in nanoseconds.
std::optional<std::uint64_t> ParseTime(std::string_view word) {
  const std::size_t dot = word.find('.');
  if (dot == std::string_view::npos || !word.ends_with(':')) return std::nullopt;
  const std::string_view fraction = word.substr(dot + 1, word.size() - dot - 2);
  if (!IsNumber(word.substr(0, dot)) || !IsNumber(fraction) || fraction.size() > 9)
    return std::nullopt;
  const auto seconds = ParseUint(word.substr(0, dot));
  const auto parts = ParseUint(fraction);
  constexpr std::uint64_t kMaxSeconds = 4'000'000'000;  // 127 years
  if (!seconds || !parts || *seconds > kMaxSeconds) return std::nullopt;
  std::uint64_t ns = *parts;
  for (std::size_t digits = fraction.size(); digits < 9; ++digits) ns *= 10;
  return *seconds * 1'000'000'000 + ns;
}

struct Header {
  std::string_view comm;
  std::optional<std::uint64_t> time_ns;
  std::optional<std::int64_t> period;
  std::string_view event;
  std::string_view rest;  // a frame if there are no call chains, or a tracepoint's fields
};

// Parses what follows the thread's number.
bool ParseAfterThread(std::string_view text, Header& out) {
  std::string_view word = NextWord(text);
  if (word.starts_with('[') && word.ends_with(']') && IsNumber(word.substr(1, word.size() - 2)))
    word = NextWord(text);
  out.time_ns = ParseTime(word);
  if (out.time_ns) word = NextWord(text);
  out.period = IsNumber(word) ? ParseInt(word) : std::nullopt;
  if (out.period) word = NextWord(text);
  if (word.size() < 2 || !word.ends_with(':') || kDigits.find(word[0]) != std::string_view::npos)
    return false;
  out.event = word.substr(0, word.size() - 1);
  out.rest = Trimmed(text);
  return true;
}

// A command's name may contain blanks and numbers. The thread's number is the first one after which
// the rest parses.
std::optional<Header> ParseHeader(std::string_view line) {
  Header out;
  std::string_view text = Trimmed(line);
  const char* const begin = text.data();
  if (NextWord(text).empty()) return std::nullopt;
  for (std::string_view word = NextWord(text); !word.empty(); word = NextWord(text)) {
    if (!IsThread(word) || !ParseAfterThread(text, out)) continue;
    out.comm = Trimmed({begin, static_cast<std::size_t>(word.data() - begin)});
    return out;
  }
  return std::nullopt;
}

struct FrameText {
  std::string_view name;    // empty: not known
  std::string_view module;  // empty: not known
  bool inlined = false;
};

std::string_view WithoutOffset(std::string_view name) {
  const std::size_t plus = name.rfind("+0x");
  if (plus == std::string_view::npos || plus == 0) return name;
  const bool hex = name.find_first_not_of("0123456789abcdef", plus + 3) == std::string_view::npos;
  return hex ? name.substr(0, plus) : name;
}

std::optional<FrameText> ParseFrame(std::string_view line) {
  std::string_view text = Trimmed(line);
  const std::string_view address = NextWord(text);
  if (address.empty() || address.size() > 16 ||
      address.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::nullopt;
  }
  text = Trimmed(text);
  FrameText out{.name = text};
  if (text.ends_with(')')) {
    std::size_t open = text.rfind(" (");
    if (text.ends_with(" (deleted))")) open = open == 0 ? open : text.rfind(" (", open - 1);
    if (open == std::string_view::npos && text.starts_with('(')) open = 0;
    if (open != std::string_view::npos) {
      out.name = Trimmed(text.substr(0, open));
      out.module = Trimmed(text.substr(open)).substr(1);
      out.module.remove_suffix(1);
    }
  }
  out.inlined = out.module == "inlined";
  if (out.inlined || out.module == kUnknown) out.module = {};
  out.name = out.name == kUnknown ? std::string_view() : WithoutOffset(out.name);
  return out;
}

bool IsIndented(std::string_view line) {
  return line.starts_with(' ') || line.starts_with('\t');
}

// "cycles:u", "cpu_core/cycles/P" -> "cycles"; "sched:sched_switch" is kept.
std::string_view EventName(std::string_view event) {
  if (const std::size_t slash = event.find('/'); slash != std::string_view::npos) {
    const std::string_view inner = event.substr(slash + 1, event.find('/', slash + 1) - slash - 1);
    return inner.empty() || inner.find('=') != std::string_view::npos ? event : inner;
  }
  const std::size_t colon = event.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return event;
  const std::string_view modifiers = event.substr(colon + 1);
  return modifiers.find_first_not_of("ukhIGHpPSDWeb") == std::string_view::npos
             ? event.substr(0, colon)
             : event;
}

// Collects one event; samples with equal stack and thread are summed.
struct Event {
  struct Sample {
    Id stack = 0;
    Id thread = 0;  // 0: none, else 1 + its index in attribute_refs
    std::int64_t value = 0;
    std::uint32_t count = 0;
  };
  std::string_view name;
  std::vector<Sample> samples;
  std::unordered_map<std::uint64_t, std::size_t> sample_of;  // stack and thread
  bool has_periods = true;
  std::int64_t period = 0;  // of all samples; 0: it varies
};

class PerfScriptDecoder {
 public:
  PerfScriptDecoder(const std::shared_ptr<const std::string>& text, const StacksContext& context)
      : text_(*text), context_(context) {
    batch_.Own(text);
  }

  Result<DecodedProfiles> Run() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      ++line_;
      if (!ReadLine(NextLine(rest))) return Failure();
    }
    if (!EndSample()) return Failure();
    if (events_.empty()) return Error(Code::kCorrupt, "no samples in this output of perf script");
    AddOrigin(batch_, context_.service, context_.labels);
    bool cpu = false;
    for (const Event& event : events_) AddProfile(event, cpu);
    return DecodedProfiles{.data = std::move(batch_), .message = notes_.Text()};
  }

 private:
  [[nodiscard]] Error Failure() const {
    return {Code::kCorrupt, fmt::format("line {}: {}", line_, reason_)};
  }
  bool Fail(std::string_view reason) {
    reason_ = reason;
    return false;
  }

  bool ReadLine(std::string_view line) {
    if (Trimmed(line).empty()) return EndSample();
    if (line.starts_with('#')) return true;
    if (header_ && IsIndented(line)) {
      if (const auto frame = ParseFrame(line)) return AddFrame(*frame), true;
    }
    const std::optional<Header> header = ParseHeader(line);
    if (!header && header_) {
      if (notes_.full()) {
        notes_.AddUnseen();
      } else {
        notes_.Add(fmt::format("line {} was left out: it is not a frame", line_));
      }
      return true;
    }
    if (!header) return Fail("a command, a thread, a time and an event are expected");
    if (!EndSample()) return false;
    header_ = header;
    // Without call chains the only frame is on the same line.
    const auto frame = ParseFrame(header->rest);
    if (!frame || frame->module.empty()) return true;
    AddFrame(*frame);
    return EndSample();
  }

  void AddFrame(const FrameText& text) {
    // Innermost first: what was inlined comes before the function it was inlined into.
    functions_here_.push_back(text.name.empty() ? ModuleFunction(text.module)
                                                : Function(text.name));
    if (!text.inlined) EndFrame(text.module);
  }
  void EndFrame(std::string_view module) {
    if (functions_here_.empty()) return;
    const Id mapping = Mapping(module);
    const auto key = HashSpan(std::span<const Id>(functions_here_), mapping);
    const auto [it, is_new] = frames_.try_emplace(key, Size32(batch_.frames.size()));
    if (is_new) {
      const Range lines{Size32(batch_.lines.size()), Size32(functions_here_.size())};
      for (const Id function : functions_here_) batch_.lines.push_back({function, 0, 0});
      batch_.frames.push_back({mapping, 0, lines, {}});
    }
    stack_here_.push_back(it->second);
    functions_here_.clear();
  }

  bool EndSample() {
    if (!header_) return true;
    EndFrame({});
    const Id stack = Stack();
    const Id thread = Thread(header_->comm);
    Event& event = EventOf(EventName(header_->event));
    const auto [it, is_new] =
        event.sample_of.try_emplace(std::uint64_t{stack} << 32 | thread, event.samples.size());
    if (is_new) event.samples.push_back({.stack = stack, .thread = thread});
    Event::Sample& sample = event.samples[it->second];
    const std::int64_t period = header_->period.value_or(0);
    event.has_periods = event.has_periods && header_->period.has_value();
    if (event.period != period) event.period = 0;
    ++sample.count;
    if (header_->time_ns) {
      first_ns_ = std::min(first_ns_, *header_->time_ns);
      last_ns_ = std::max(last_ns_, *header_->time_ns);
    }
    header_.reset();
    return !__builtin_add_overflow(sample.value, period, &sample.value) ||
           Fail("the periods of one stack add up to more than 64 bits");
  }

  Id Stack() {
    if (stack_here_.empty()) return 0;
    const auto [it, is_new] = stacks_.try_emplace(HashSpan(std::span<const Id>(stack_here_)),
                                                  Size32(batch_.stacks.size()));
    if (is_new) {
      batch_.stacks.push_back({Size32(batch_.stack_frames.size()), Size32(stack_here_.size())});
      batch_.stack_frames.insert(batch_.stack_frames.end(), stack_here_.begin(), stack_here_.end());
    }
    stack_here_.clear();
    return it->second;
  }

  Id Text(std::string_view text) {
    return IsValidUtf8(text) ? batch_.AddView(text) : batch_.AddText(ReplaceBadUtf8(text));
  }
  Id Function(std::string_view name) {
    const auto [it, is_new] = functions_.try_emplace(name, Size32(batch_.functions.size()));
    if (is_new) batch_.functions.push_back({Text(name), 0, 0, 0});
    return it->second;
  }
  Id ModuleFunction(std::string_view module) {
    if (module.empty()) return Function(kUnknown);
    const auto [it, is_new] =
        module_functions_.try_emplace(module, Size32(batch_.functions.size()));
    if (is_new) {
      const std::string_view file = module.substr(module.rfind('/') + 1);
      const bool marked = file.starts_with('[');
      const std::string name = marked ? std::string(file) : fmt::format("[{}]", file);
      batch_.functions.push_back({batch_.AddText(ReplaceBadUtf8(name)), 0, 0, 0});
    }
    return it->second;
  }
  Id Mapping(std::string_view module) {
    if (module.empty()) return 0;
    const auto [it, is_new] = mappings_.try_emplace(module, Size32(batch_.mappings.size()));
    if (is_new) batch_.mappings.push_back({.filename = Text(module)});
    return it->second;
  }

  // 0, or 1 + the index of its attribute in attribute_refs.
  Id Thread(std::string_view comm) {
    if (comm.empty()) return 0;
    const auto [known, is_new] = threads_.try_emplace(comm, 0);
    if (!is_new) return known->second;
    const std::string group = ThreadGroupName(ReplaceBadUtf8(comm));
    const auto [it, is_new_group] = groups_.try_emplace(group, 0);
    if (is_new_group && groups_.size() <= kMaxThreadNames) {
      const Id key = batch_.AddText("thread.name");
      batch_.attributes.push_back(
          {key, 0, {profile::Value::Kind::kString, batch_.AddText(group), 0}});
      batch_.attribute_refs.push_back(Size32(batch_.attributes.size() - 1));
      it->second = Size32(batch_.attribute_refs.size());
    } else if (is_new_group && !notes_.full()) {
      notes_.Add(
          fmt::format("more than {} thread names: '{}' was left out", kMaxThreadNames, group));
    }
    return known->second = it->second;
  }

  Event& EventOf(std::string_view name) {
    const auto [it, is_new] = event_of_.try_emplace(name, events_.size());
    if (is_new) events_.push_back({.name = name, .period = header_->period.value_or(0)});
    return events_[it->second];
  }

  // `cpu`: whether there is a profile of CPU time already; a second clock must not add to it.
  void AddProfile(const Event& event, bool& cpu) {
    profile::Profile& p = batch_.profiles.emplace_back();
    p.resource = 1;
    p.scope = 1;
    const bool clock = event.name == "cpu-clock" || event.name == "task-clock";
    const Id name = Text(event.name);
    if (!event.has_periods) {
      p.name = name;
      p.sample_type = {batch_.AddText("samples"), batch_.AddText("count")};
    } else {
      p.name = batch_.AddText(clock ? "process_cpu" : "perf");
      p.sample_type = {clock && !cpu ? batch_.AddText("cpu") : name,
                       batch_.AddText(clock ? "nanoseconds" : "count")};
      p.period_type = p.sample_type;
      p.period = event.period;
      cpu = cpu || clock;
    }
    p.time_ns = context_.time_ns;
    p.duration_ns = context_.duration_ns != 0 || last_ns_ < first_ns_ ? context_.duration_ns
                                                                      : last_ns_ - first_ns_;
    p.first_sample = Size32(batch_.samples.size());
    p.sample_count = Size32(event.samples.size());
    for (const Event::Sample& sample : event.samples) {
      const std::int64_t value = event.has_periods ? sample.value : sample.count;
      const Range thread = sample.thread == 0 ? Range{} : Range{sample.thread - 1, 1};
      batch_.values.push_back(value);
      batch_.samples.Append(sample.stack, thread, 0, value, {},
                            {Size32(batch_.values.size() - 1), 1});
      batch_.samples.count.push_back(sample.count);
    }
  }

  std::string_view text_;
  const StacksContext& context_;
  profile::Batch batch_;
  Notes notes_;
  std::size_t line_ = 0;
  std::string reason_;

  // The sample being read.
  std::optional<Header> header_;
  std::vector<Id> functions_here_;  // of the current frame
  std::vector<Id> stack_here_;

  std::vector<Event> events_;
  std::unordered_map<std::string_view, std::size_t> event_of_;
  std::unordered_map<std::string_view, Id> functions_, module_functions_, mappings_, threads_;
  std::unordered_map<std::string, Id> groups_;
  std::unordered_map<Hash128, Id> frames_, stacks_;
  std::uint64_t first_ns_ = UINT64_MAX;
  std::uint64_t last_ns_ = 0;
};

}  // namespace

bool IsPerfScript(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    if (Trimmed(line).empty() || line.starts_with('#')) continue;
    const std::optional<Header> header = ParseHeader(line);
    if (!header) return false;
    if (header->time_ns) return true;
    const std::string_view next = NextLine(text);
    return IsIndented(next) && ParseFrame(next).has_value();
  }
  return false;
}

Result<DecodedProfiles> DecodePerfScript(const std::shared_ptr<const std::string>& text,
                                         const StacksContext& context) {
  return PerfScriptDecoder(text, context).Run();
}

}  // namespace wherefore::formats
