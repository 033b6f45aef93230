#include "query/name_list.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "query/selector.h"

namespace wherefore::query {

Result<NameFilter> NameFilter::Parse(std::string_view text) {
  NameFilter filter;
  if (text.empty()) return filter;
  if (text.size() > kMostBytes) {
    return Error(Code::kInvalid, fmt::format("{} bytes are too long to be looked for; at most {}",
                                             text.size(), kMostBytes));
  }
  WHEREFORE_RETURN_IF_ERROR(CheckUtf8(text));
  WHEREFORE_ASSIGN_OR_RETURN(filter.regex_,
                             CompileRegex(re2::RE2::QuoteMeta(text), {.any_case = true}));
  return filter;
}

bool NameFilter::Matches(std::string_view name) const {
  return empty() || re2::RE2::PartialMatch(name, *regex_);
}

Result<> NameSet::Add(std::string_view name) {
  if (names_.contains(name) || !wanted_.search.Matches(name)) return {};
  names_.emplace(name);
  constexpr std::size_t kNode = 80;  // of the set, beside the text
  bytes_ += kNode + name.size();
  return held_.Resize(bytes_);
}

NameList NameSet::Take() {
  NameList list{.names = {}, .total = names_.size()};
  for (auto it = names_.begin(); it != names_.end() && list.names.size() < wanted_.limit; ++it)
    list.names.push_back(*it);
  return list;
}

}  // namespace wherefore::query
