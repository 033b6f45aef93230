#include "query/search.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/arithmetic.h"
#include "base/json_writer.h"
#include "query/selector.h"

namespace wherefore::query {

void Found::AppendTo(JsonWriter& json, bool difference) const {
  json.Key("search").BeginObject().Field("value", value).Field("count", count);
  if (difference) json.Field("value_before", before);
  json.Field("functions", function_count).Field("nodes", nodes).EndObject();
}

Result<Search> Search::Parse(std::string_view text) {
  Search search;
  if (text.empty()) return search;
  if (text.size() > kMostBytes) {
    return Error(Code::kInvalid, fmt::format("{} bytes are too long to be looked for; at most {}",
                                             text.size(), kMostBytes));
  }
  WHEREFORE_ASSIGN_OR_RETURN(search.regex_,
                             CompileRegex(text, {.any_case = true, .dot_is_newline = false}));
  return search;
}

bool Search::Matches(const profile::FlameFunction& f) const {
  return f.kind != profile::FrameKind::kOther &&
         (re2::RE2::PartialMatch(f.name, *regex_) || re2::RE2::PartialMatch(f.module, *regex_));
}

Found Search::In(const profile::FlameTree& tree, std::span<const std::int64_t> before) const {
  Found found{.functions = std::vector<char>(tree.functions.size())};
  if (empty()) return found;
  enum : char { kUnknown = 0, kNo = 1, kYes = 2 };
  std::vector<char> known(tree.functions.size(), kUnknown);
  std::uint32_t match_depth = UINT32_MAX;  // of the outermost match we are below
  for (std::size_t i = 1; i < tree.size(); ++i) {
    if (tree.depth[i] <= match_depth) match_depth = UINT32_MAX;
    const std::uint32_t f = tree.function[i];
    if (known[f] == kUnknown) {
      known[f] = Matches(tree.functions[f]) ? kYes : kNo;
      found.function_count += known[f] == kYes ? 1 : 0;
    }
    if (known[f] == kNo) continue;
    found.functions[f] = 1;
    ++found.nodes;
    if (match_depth != UINT32_MAX) continue;
    match_depth = tree.depth[i];
    found.value = SaturatingAdd(found.value, tree.total[i]);
    found.count = SaturatingAdd(found.count, tree.total_count[i]);
    if (!before.empty()) found.before = SaturatingAdd(found.before, before[i]);
  }
  return found;
}

}  // namespace wherefore::query
