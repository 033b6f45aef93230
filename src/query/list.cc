#include "query/list.h"

#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <re2/re2.h>

#include "profile/line_table.h"
#include "query/dictionary_portions.h"
#include "query/frame_lines.h"
#include "query/scan.h"
#include "query/snapshots.h"

namespace wherefore::query {
namespace {

// Feeds stacks of one stored dictionary into a LineTable.
class StoredLines {
 public:
  StoredLines(profile::LineTable& table, store::DictionaryRows rows,
              symbols::Symbolizer* symbolizer, const std::string& file)
      : table_(table),
        rows_(std::move(rows)),
        resolved_(ResolveFrames(symbolizer, rows_.frames, rows_.mappings)),
        file_(file) {}

  void Add(std::uint32_t stack, std::int64_t value) {
    if (stack == 0 || stack > rows_.stacks.size()) return;
    const profile::Range range = rows_.stacks[stack - 1];
    table_.BeginStack(value);
    for (std::uint32_t k = 0; k < range.count; ++k) {
      const std::uint32_t frame_id = rows_.stack_frames[range.begin + k];
      if (frame_id == 0 || frame_id > rows_.frames.size()) continue;
      const store::FrameRow& frame = rows_.frames[frame_id - 1];
      if (const symbols::ResolvedFrame* const resolved = resolved_.Of(frame_id - 1)) {
        for (const symbols::ResolvedLine& line : *resolved) {
          table_.Add(FunctionOf(frame, line), line.line);
        }
        continue;
      }
      for (const store::LineRow& line : frame.lines) {
        table_.Add(FunctionOf(frame, line.function), line.line);
      }
      if (frame.lines.empty()) table_.Add(profile::LineTable::kNotWanted, 0);
    }
  }

 private:
  std::size_t FunctionOf(const store::FrameRow& frame, std::uint32_t function) {
    if (function == 0 || function > rows_.functions.size()) return profile::LineTable::kNotWanted;
    const auto [it, added] = known_.try_emplace({function, frame.mapping});
    if (!added) return it->second;
    const store::FunctionRow& row = rows_.functions[function - 1];
    if (!file_.empty() && row.file != file_) return it->second = profile::LineTable::kNotWanted;
    profile::FrameFacts facts{.name = row.name,
                              .system_name = row.system_name,
                              .file = row.file,
                              .start_line = row.start_line};
    facts.mapping_file = ModuleOf(frame);
    return it->second = table_.Function(facts);
  }

  std::size_t FunctionOf(const store::FrameRow& frame, const symbols::ResolvedLine& line) {
    const auto [it, added] = known_resolved_.try_emplace(&line);
    if (!added) return it->second;
    if (!file_.empty() && line.file != file_) return it->second = profile::LineTable::kNotWanted;
    return it->second = table_.Function({.name = line.name,
                                         .system_name = line.system_name,
                                         .file = line.file,
                                         .start_line = line.start_line,
                                         .mapping_file = ModuleOf(frame)});
  }

  [[nodiscard]] std::string_view ModuleOf(const store::FrameRow& frame) const {
    const bool known = frame.mapping > 0 && frame.mapping <= rows_.mappings.size();
    return known ? std::string_view(rows_.mappings[frame.mapping - 1].file) : std::string_view();
  }

  profile::LineTable& table_;
  store::DictionaryRows rows_;
  FrameLines resolved_;
  const std::string& file_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> known_;  // (function, mapping)
  std::unordered_map<const symbols::ResolvedLine*, std::size_t> known_resolved_;
};

}  // namespace

Result<ListAnswer> List(QueryContext& context, const Selection& selection,
                        const std::string& function_regex, const ListOptions& options,
                        const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto regex, CompileRegex(function_regex));
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r, Resolve(context, selection, cancel));
  ListAnswer answer{.type = r.type, .unit = r.unit, .scale = r.snapshot ? kAverageScale : 1};
  WHEREFORE_ASSIGN_OR_RETURN(const auto values, SumOrAverage(context, r, cancel, &answer.tier));
  profile::LineTable table([&](const profile::FlameFunction& f) {
    return (!options.module || f.module == *options.module) &&
           re2::RE2::PartialMatch(f.name, *regex);
  });
  std::vector<store::DictionaryKey> dictionaries;
  std::vector<const std::vector<StackValue>*> values_of;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    dictionaries.push_back(r.query.selections[i].dictionary);
    values_of.push_back(&values[i]);
  }
  const auto add = [&](std::size_t at, store::DictionaryRows&& rows) -> Result<> {
    StoredLines lines(table, std::move(rows), context.symbolizer, options.file);
    for (const StackValue& v : *values_of[at]) {
      answer.total = SaturatingAdd(answer.total, v.value);
      lines.Add(v.stack, v.value);
    }
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(EachDictionary(context.reader, dictionaries, add, cancel));
  if (dictionaries.empty()) answer.hint = context.catalog.ExplainEmpty(selection, cancel);
  answer.functions = table.Take();
  if (answer.hint.empty() && answer.functions.empty()) {
    answer.hint = fmt::format("no function of this selection matches '{}'", function_regex);
    if (options.module) answer.hint += fmt::format(" in module '{}'", *options.module);
    if (!options.file.empty()) answer.hint += fmt::format(" in file '{}'", options.file);
  }
  return answer;
}

Result<bool> NamesFile(QueryContext& context, const Selection& selection, const std::string& file,
                       const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto services,
                             context.catalog.Services(selection.tenant, selection.range, cancel));
  std::vector<store::DictionaryKey> keys;
  for (const store::ServiceRow& s : services) {
    if (selection.selector.MatchesService(s.name)) keys.push_back(s.dictionary);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const bool sent, context.reader.NamesFile(keys, file, cancel));
  if (sent) return true;
  // Profiles that came as addresses have their files from debug information.
  for (const store::DictionaryKey& key : keys) {
    WHEREFORE_ASSIGN_OR_RETURN(const bool resolved, context.tries.NamesFile(key, file, cancel));
    if (resolved) return true;
  }
  return false;
}

}  // namespace wherefore::query
