// Engine::List: self and total per source line of the functions that match, as `pprof list` shows
// them.
#include <algorithm>
#include <set>

#include <re2/re2.h>

#include "profile/frame_name.h"
#include "query/engine.h"

namespace wherefore::query {
namespace {

// Collects lines of matching functions over stacks, however they are stored.
class LineCollector {
 public:
  explicit LineCollector(const re2::RE2& regex) : regex_(regex) {}

  void Add(const store::DictionaryRows& dictionary, std::uint32_t stack, std::int64_t value) {
    if (stack == 0 || stack > dictionary.stacks.size()) return;
    const profile::Range range = dictionary.stacks[stack - 1];
    std::set<std::size_t> functions_seen;
    std::set<std::pair<std::size_t, std::uint32_t>> lines_seen;
    bool leaf = true;
    for (std::uint32_t k = 0; k < range.count; ++k) {
      const std::uint32_t frame_id = dictionary.stack_frames[range.begin + k];
      if (frame_id == 0 || frame_id > dictionary.frames.size()) continue;
      const store::FrameRow& frame = dictionary.frames[frame_id - 1];
      for (const store::LineRow& line : frame.lines) {
        const std::size_t f = FunctionOf(dictionary, frame, line.function);
        if (f != kNone) {
          ListedFunction& listed = functions_[f];
          ListedLine& entry = lines_[f][line.line];
          entry.line = line.line;
          if (functions_seen.insert(f).second) listed.total += value;
          if (lines_seen.emplace(f, line.line).second) entry.total += value;
          if (leaf) {
            listed.self += value;
            entry.self += value;
          }
        }
        leaf = false;
      }
      leaf = false;
    }
  }

  std::vector<ListedFunction> Take() {
    for (std::size_t f = 0; f < functions_.size(); ++f) {
      for (const auto& [line, entry] : lines_[f]) functions_[f].lines.push_back(entry);
    }
    std::sort(functions_.begin(), functions_.end(),
              [](const ListedFunction& a, const ListedFunction& b) { return a.total > b.total; });
    return std::move(functions_);
  }
  void NextDictionary() { known_.clear(); }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  std::size_t FunctionOf(const store::DictionaryRows& dictionary, const store::FrameRow& frame,
                         std::uint32_t function) {
    if (function == 0 || function > dictionary.functions.size()) return kNone;
    const auto [it, added] = known_.try_emplace({function, frame.mapping}, kNone);
    if (!added) return it->second;
    const store::FunctionRow& row = dictionary.functions[function - 1];
    profile::FrameFacts facts{.name = row.name, .system_name = row.system_name, .file = row.file};
    if (frame.mapping > 0 && frame.mapping <= dictionary.mappings.size()) {
      facts.mapping_file = dictionary.mappings[frame.mapping - 1].file;
    }
    const profile::FlameFunction named = profile::NameFrame(facts);
    if (!re2::RE2::PartialMatch(named.name, regex_)) return kNone;
    const auto [slot, fresh] = ids_.try_emplace({named.name, row.file}, functions_.size());
    if (fresh) {
      functions_.push_back({.name = named.name,
                            .module = named.module,
                            .file = row.file,
                            .start_line = row.start_line});
      lines_.emplace_back();
    }
    return it->second = slot->second;
  }

  const re2::RE2& regex_;
  std::vector<ListedFunction> functions_;
  std::vector<std::map<std::uint32_t, ListedLine>> lines_;
  std::map<std::pair<std::string, std::string>, std::size_t> ids_;        // (name, file)
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> known_;  // (function, mapping)
};

}  // namespace

Result<ListAnswer> Engine::List(const Selection& selection, const std::string& function_regex,
                                const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto regex, CompileRegex(function_regex));
  WHEREFORE_ASSIGN_OR_RETURN(Resolved r, catalog_.Resolve(selection, {}, cancel));
  ListAnswer answer{.type = r.type, .unit = r.unit};
  std::vector<store::StackSum> sums;
  if (!r.query.selections.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(sums, reader_.SumStacks(r.query, cancel));
  }
  if (sums.empty()) answer.hint = catalog_.ExplainEmpty(selection, cancel);
  std::sort(sums.begin(), sums.end(), [](const store::StackSum& a, const store::StackSum& b) {
    return a.dictionary < b.dictionary;
  });
  LineCollector collector(*regex);
  store::DictionaryRows dictionary;
  std::uint32_t open = UINT32_MAX;
  for (const store::StackSum& s : sums) {
    if (s.dictionary != open) {
      open = s.dictionary;
      WHEREFORE_ASSIGN_OR_RETURN(
          dictionary, reader_.Dictionary(r.query.selections[open].dictionary, {}, cancel));
      collector.NextDictionary();
    }
    const std::int64_t value = s.value * r.types.at(s.type).multiplier;
    answer.total += value;
    collector.Add(dictionary, s.stack, value);
  }
  answer.functions = collector.Take();
  if (answer.hint.empty() && answer.functions.empty()) {
    answer.hint = "no function of this selection matches '" + function_regex + "'";
  }
  return answer;
}

}  // namespace wherefore::query
