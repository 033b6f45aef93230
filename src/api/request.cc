#include "api/request.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "profile/tree_path.h"
#include "query/catalog.h"
#include "query/lens.h"
#include "query/name_list.h"
#include "query/search.h"
#include "query/selector.h"

namespace wherefore::api {
namespace {

Error Bad(std::string_view name, std::string_view what) {
  return {Code::kInvalid, fmt::format("parameter '{}': {}", name, what)};
}

template <typename Array>
Result<Array> ParseHexId(std::string_view hex, std::string_view what) {
  Array id{};
  const auto bytes = FromHex(hex);
  if (!bytes || bytes->size() != id.size()) {
    return Error(Code::kInvalid, fmt::format("'{}' is not a {} id; expected {} hex digits", hex,
                                             what, id.size() * 2));
  }
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<char*>(id.data()));
  return id;
}

constexpr std::int64_t kYear2000 = 946'684'800 * kNsPerSecond;
}  // namespace

Result<Parameters> Parameters::Read(const net::HttpRequest& request,
                                    std::initializer_list<std::string_view> known) {
  Parameters p;
  p.tenant_ = request.tenant;
  static constexpr std::array<std::string_view, 3> kMayRepeat = {"by", "span", "attribute"};
  for (auto& [name, value] : request.QueryParameters()) {
    if (p.values_.contains(name) &&
        std::find(kMayRepeat.begin(), kMayRepeat.end(), name) == kMayRepeat.end()) {
      return Bad(name, "given more than once");
    }
    if (const Result<> utf8 = CheckUtf8(value); !utf8) return Bad(name, utf8.error().message());
    const bool of_lens = name == "own" && std::ranges::find(known, "lens") != known.end();
    if (!of_lens && std::find(known.begin(), known.end(), name) == known.end()) {
      return Bad(name, fmt::format("not known here; there are: {}", fmt::join(known, ", ")));
    }
    p.values_.emplace(std::move(name), std::move(value));
  }
  return p;
}

std::string Parameters::Get(std::string_view name, std::string_view otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::string(otherwise) : it->second;
}

std::vector<std::string> Parameters::All(std::string_view name) const {
  std::vector<std::string> out;
  const auto [begin, end] = values_.equal_range(name);
  for (auto it = begin; it != end; ++it) out.push_back(it->second);
  return out;
}

Result<std::int64_t> Parameters::Int(std::string_view name, std::int64_t otherwise,
                                     std::int64_t least, std::int64_t most) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return otherwise;
  const auto number = ParseInt(it->second);
  if (!number || *number < least || *number > most) {
    return Bad(name, fmt::format("expected a whole number from {} to {}", least, most));
  }
  return *number;
}

Result<bool> Parameters::Flag(std::string_view name) const {
  const std::string text = Get(name, "false");
  if (text != "true" && text != "false") return Bad(name, "expected true or false");
  return text == "true";
}

Result<double> Parameters::Share(std::string_view name, double otherwise) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return otherwise;
  double value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [stop, error] = std::from_chars(it->second.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0 && value <= 1)) {
    return Bad(name, "expected a share from 0 to 1");
  }
  return value;
}

Result<query::TimeRange> Parameters::Range(std::string_view prefix, bool from_the_beginning) const {
  const std::int64_t now = NowUnixNs();
  const auto time = [&](std::string_view name, const std::string& text) -> Result<std::int64_t> {
    auto ns = ParseTime(text, now);
    if (!ns) return Bad(fmt::format("{}{}", prefix, name), ns.error().message());
    // Times that nothing is stored for are slips: other units, a digit too many.
    const bool late = name == "from" && *ns > now + kNsPerDay;
    const bool early = name == "to" && *ns < kYear2000;
    if (late || early) {
      return Bad(
          fmt::format("{}{}", prefix, name),
          fmt::format("'{}' is {}, {}; Unix times may be in s, ms, us or ns", text, FormatTime(*ns),
                      late ? "which is to come" : "before anything that is stored"));
    }
    return ns;
  };
  const std::string from = Get(fmt::format("{}from", prefix));
  const std::string to = Get(fmt::format("{}to", prefix));
  const std::string since = Get(fmt::format("{}since", prefix));
  // A little into the future, because senders' clocks differ.
  query::TimeRange range{.from_ns = now - 3600 * kNsPerSecond, .to_ns = now + 3600 * kNsPerSecond};
  if (from_the_beginning) range.from_ns = 0;
  if (!from.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(range.from_ns, time("from", from));
  }
  if (!to.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(range.to_ns, time("to", to));
  }
  if (!since.empty() && from.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t ago, ParseDuration(since));
    range.from_ns = std::max<std::int64_t>((to.empty() ? now : range.to_ns) - ago, 0);
  }
  if (range.to_ns <= range.from_ns) return Bad(fmt::format("{}to", prefix), "must be after from");
  return range;
}

Result<query::Selection> Parameters::Selection(std::string_view prefix) const {
  query::Selection selection{.tenant = tenant_};
  const std::string text = Get(fmt::format("{}query", prefix), Get("query"));
  WHEREFORE_ASSIGN_OR_RETURN(selection.selector, query::Selector::Parse(text));
  WHEREFORE_ASSIGN_OR_RETURN(selection.range, Range(prefix));
  selection.type = Get("type");
  return selection;
}

Result<query::Lens> Parameters::Lens() const {
  return Has("own") ? query::Lens::ParseWithOwn(Get("lens"), Get("own"))
                    : query::Lens::Parse(Get("lens"));
}

Result<query::Search> Parameters::Search() const {
  auto search = query::Search::Parse(Get("search"));
  if (!search) return std::move(search).error().Within("parameter 'search'");
  return search;
}

Result<query::ListOf> Parameters::List(std::int64_t limit, std::int64_t most) const {
  auto search = query::NameFilter::Parse(Get("search"));
  if (!search) return std::move(search).error().Within("parameter 'search'");
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t number, Int("limit", limit, 1, most));
  return query::ListOf{.search = *std::move(search), .limit = static_cast<std::size_t>(number)};
}

Result<profile::PruneOptions> Parameters::Prune(std::int64_t default_nodes) const {
  profile::PruneOptions options;
  WHEREFORE_ASSIGN_OR_RETURN(options.min_share, Share("min_share", 0));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t nodes,
                             Int("max_nodes", default_nodes, 0, 10'000'000));
  options.max_nodes = static_cast<std::size_t>(nodes);
  return options;
}

// function=<name> (module=<file name>: of that module only) and side=callers|callees.
Result<std::optional<query::FunctionSide>> Parameters::Side() const {
  const std::string function = Get("function");
  const std::string side = Get("side");
  if (function.empty() && side.empty()) return std::optional<query::FunctionSide>();
  if (function.empty()) return Bad("function", "expected a function's whole name");
  if (side != "callers" && side != "callees") return Bad("side", "expected callers or callees");
  return query::FunctionSide{
      .function = {.name = function,
                   .module = Has("module") ? std::optional(Get("module")) : std::nullopt},
      .callers = side == "callers"};
}

Result<query::ViewOptions> Parameters::View(std::int64_t default_nodes) const {
  query::ViewOptions options;
  WHEREFORE_ASSIGN_OR_RETURN(options.lens, Lens());
  WHEREFORE_ASSIGN_OR_RETURN(options.side, Side());
  if (const std::string root = Get("root"); !root.empty()) {
    options.root = profile::ParsePathHash(root);
    if (!options.root) return Bad("root", "expected 16 hex digits");
  }
  WHEREFORE_ASSIGN_OR_RETURN(options.search, Search());
  WHEREFORE_ASSIGN_OR_RETURN(options.prune, Prune(default_nodes));
  return options;
}

void EndNow(const Parameters& p, query::TimeRange& range) {
  if (p.Get("to").empty()) range.to_ns = std::max(NowUnixNs(), range.from_ns + 1);
}

Result<profile::TraceId> ParseTraceId(std::string_view hex) {
  return ParseHexId<profile::TraceId>(hex, "trace");
}
Result<profile::SpanId> ParseSpanId(std::string_view hex) {
  return ParseHexId<profile::SpanId>(hex, "span");
}

}  // namespace wherefore::api
