#include "api/pyroscope_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/render.h"
#include "api/request.h"
#include "base/text.h"
#include "query/labels.h"
#include "query/selector.h"

namespace wherefore::api {
namespace {

constexpr std::size_t kDefaultMaxNodes = 8192;
constexpr std::size_t kMostNodes = 1'048'576;
constexpr std::string_view kCapability = "allow-utf8-labelnames";

bool IsTokenChar(char c) {
  return c > ' ' && c < 0x7f &&
         std::string_view("()<>@,;:\\\"/[]?=").find(c) == std::string_view::npos;
}

// Reads an Accept header piece by piece.
class AcceptReader {
 public:
  explicit AcceptReader(std::string_view text) : rest_(text) {}

  bool Read(ClientCapabilities& out) {
    while (true) {
      Space();
      if (!MediaRange()) return false;
      while (Take(';')) {
        Space();
        if (rest_.empty() || rest_[0] == ',') break;
        std::string_view name;
        std::string value;
        if (!Parameter(name, value)) return false;
        if (name == kCapability && value == "true") out.utf8_label_names = true;
      }
      if (rest_.empty()) return true;
      if (!Take(',')) return false;
    }
  }

 private:
  void Space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool Take(char c) {
    Space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view Token() {
    std::size_t n = 0;
    while (n < rest_.size() && IsTokenChar(rest_[n])) ++n;
    const std::string_view token = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return token;
  }
  // "*/*", "text/html"; Java's default header has a lone "*".
  bool MediaRange() {
    if (Token().empty()) return false;
    return !Take('/') || !Token().empty();
  }
  bool Parameter(std::string_view& name, std::string& value) {
    name = Token();
    if (name.empty() || !Take('=')) return false;
    Space();
    if (rest_.empty() || rest_[0] != '"') {
      value = Token();
      return !value.empty();
    }
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_[0] != '"') {
      if (rest_[0] == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      value += rest_[0];
      rest_.remove_prefix(1);
    }
    return Take('"');
  }

  std::string_view rest_;
};

// Pyroscope writes profile ids as UUIDs.
std::string WithoutDashes(std::string_view text) {
  std::string out(text);
  std::erase(out, '-');
  return out;
}

}  // namespace

Result<ClientCapabilities> ReadCapabilities(const net::Headers& headers) {
  ClientCapabilities out;
  const auto it = headers.find("Accept");
  if (it == headers.end() || it->second.empty()) return out;
  if (!AcceptReader(it->second).Read(out)) {
    return Error(Code::kInvalid, fmt::format("the Accept header '{}' cannot be read", it->second));
  }
  return out;
}

bool IsPlainLabelName(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), plain);
}

std::int64_t MillisecondsToNs(std::int64_t ms) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  return std::clamp(ms, std::int64_t{0}, INT64_MAX / kNsPerMs - 1) * kNsPerMs;
}

Result<query::TimeRange> ReadRange(std::int64_t start_ms, std::int64_t end_ms) {
  if (start_ms == 0 || end_ms == 0) {
    return Error(Code::kInvalid, "start and end are required, in milliseconds since 1970");
  }
  if (start_ms > end_ms) return Error(Code::kInvalid, "start must not be after end");
  return query::TimeRange{.from_ns = MillisecondsToNs(start_ms),
                          .to_ns = MillisecondsToNs(end_ms) + 1'000'000};
}

query::TimeRange AskedFor(std::initializer_list<const formats::QuerierRequest*> requests) {
  query::TimeRange all{INT64_MAX, 0};
  for (const formats::QuerierRequest* const request : requests) {
    const auto range = ReadRange(request->start_ms, request->end_ms);
    all.from_ns = std::min(all.from_ns, range ? range->from_ns : 0);
    all.to_ns = std::max(all.to_ns, range ? range->to_ns : INT64_MAX);
  }
  return all;
}

Result<std::string> ReadTypeId(std::string_view id) {
  std::string_view five = id;
  const auto colons = std::count(id.begin(), id.end(), ':');
  if (colons == 5) five = id.substr(0, id.rfind(':'));
  if (colons < 4 || colons > 5) {
    return Error(Code::kInvalid, fmt::format("'{}' is not a profile type; expected "
                                             "name:sample_type:sample_unit:period_type:period_unit",
                                             id));
  }
  return std::string(five);
}

Result<TypedSelection> ReadSelection(std::uint32_t tenant, std::string_view type_id,
                                     std::string_view selector, query::TimeRange range) {
  TypedSelection out;
  out.selection.tenant = tenant;
  out.selection.range = range;
  out.selection.add_up_snapshots = true;
  WHEREFORE_ASSIGN_OR_RETURN(out.selection.type, ReadTypeId(type_id));
  WHEREFORE_ASSIGN_OR_RETURN(out.selection.selector, query::Selector::ParseSeries(selector));
  out.impossible = !out.selection.selector.MatchesType(out.selection.type);
  return out;
}

Result<query::Narrowing> ReadNarrowing(const formats::QuerierRequest& request) {
  if (!request.spans.empty() && !request.trace_ids.empty()) {
    return Error(Code::kInvalid, "spanSelector and traceIdSelector cannot be used together");
  }
  query::Narrowing out;
  for (const std::string& text : request.spans) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto id, ParseSpanId(text));
    out.spans.push_back(id);
  }
  for (const std::string& text : request.trace_ids) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto id, ParseTraceId(text));
    out.traces.push_back(id);
  }
  for (const std::string& text : request.profile_ids) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto id, ParseTraceId(WithoutDashes(text)));
    out.profiles.push_back(id);
  }
  return out;
}

Result<std::size_t> ReadMaxNodes(std::int64_t asked) {
  if (asked < 0) return Error(Code::kInvalid, "maxNodes must not be negative");
  if (asked == 0) return kDefaultMaxNodes;
  return std::min(static_cast<std::size_t>(asked), kMostNodes);
}

std::string_view PyroscopeLabel(const query::StoredSeries& series, std::string_view name) {
  if (query::IsServiceLabel(name) || name == "__service_name__") return series.service;
  return query::IsTypeLabel(name) ? query::TypeLabel(series.type_id, name)
                                  : query::FindLabel(*series.labels, name);
}

formats::LabelPairs PyroscopeLabels(const query::StoredSeries& series, bool plain_only) {
  formats::LabelPairs out;
  for (const auto& [name, value] : *series.labels) {
    if (query::IsServiceLabel(name) || (plain_only && !IsPlainLabelName(name))) continue;
    out.emplace_back(name, value);
  }
  out.emplace_back("service_name", series.service);
  out.emplace_back("__service_name__", series.service);
  for (const std::string_view name : query::kTypeLabels) {
    out.emplace_back(name, query::TypeLabel(series.type_id, name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace wherefore::api
