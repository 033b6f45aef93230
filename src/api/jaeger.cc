#include "api/jaeger.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "api/incomplete.h"
#include "api/jaeger_json.h"
#include "api/request.h"
#include "api/run.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "formats/jaeger_tags.h"
#include "query/traces.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using JaegerParameters = std::multimap<std::string, std::string>;

// Lists of services and operations have no time range; a week is what people mean.
constexpr std::int64_t kLookback = 7 * kNsPerDay;
constexpr std::size_t kMostSpans = 100'000;
constexpr std::size_t kMostTraces = 1500;

HttpResponse Failure(const Error& error) {
  HttpResponse response;
  response.status = net::HttpStatus(error.code());
  JsonWriter json(response.body);
  json.BeginObject().Key("data").Null().Field("total", 0).Field("limit", 0).Field("offset", 0);
  json.Key("errors").BeginArray().BeginObject().Field("code", response.status);
  json.Field("msg", error.message()).EndObject().EndArray().EndObject();
  if (response.status == 429) response.headers["Retry-After"] = "1";
  if (response.status == 503) response.headers["Retry-After"] = "5";
  return response;
}

// `append` writes one element after the other.
HttpResponse Success(std::size_t total, const std::function<void(JsonWriter&)>& append) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key("data").BeginArray();
  append(json);
  json.EndArray().Field("total", total).Field("limit", 0).Field("offset", 0);
  json.Key("errors").Null().EndObject();
  return response;
}

HttpResponse Names(const std::vector<std::string>& names) {
  return Success(names.size(), [&](JsonWriter& json) {
    for (const std::string& name : names) json.String(name);
  });
}

JaegerParameters ReadParameters(const HttpRequest& request) {
  JaegerParameters out;
  for (auto& [name, value] : request.QueryParameters()) {
    if (!value.empty()) out.emplace(std::move(name), std::move(value));
  }
  return out;
}
std::string Get(const JaegerParameters& p, const std::string& name) {
  const auto it = p.find(name);
  return it == p.end() ? "" : it->second;
}

query::TimeRange LastWeek() {
  const std::int64_t now = NowUnixNs();
  return {now - kLookback, now + 3600 * kNsPerSecond};
}

// Leading zeros may be missing.
Result<profile::TraceId> ReadTraceId(std::string_view text) {
  if (text.size() >= 32 || text.empty()) return ParseTraceId(text);
  return ParseTraceId(std::string(32 - text.size(), '0') + std::string(text));
}

// start and end in microseconds; a lookback ("1h") counts when there is no start.
Result<query::TimeRange> ReadTimes(const JaegerParameters& p) {
  const std::int64_t now = NowUnixNs();
  query::TimeRange range{now - 3600 * kNsPerSecond, now + 3600 * kNsPerSecond};
  const auto read = [&](const std::string& name, std::int64_t& ns) -> Result<> {
    const std::string text = Get(p, name);
    if (text.empty()) return {};
    const auto us = ParseInt(text);
    if (!us || *us < 0 || *us > INT64_MAX / 1000 - 1) {
      return Error(Code::kInvalid,
                   fmt::format("parameter '{}': expected microseconds since 1970", name));
    }
    ns = *us * 1000;
    return {};
  };
  std::int64_t end = now;
  WHEREFORE_RETURN_IF_ERROR(read("end", end));
  if (!Get(p, "end").empty()) range.to_ns = end + 1000;
  const std::string lookback = Get(p, "lookback");
  if (Get(p, "start").empty() && !lookback.empty() && lookback != "custom") {
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t ago, ParseDuration(lookback));
    range.from_ns = std::max<std::int64_t>(end - ago, 0);
  }
  WHEREFORE_RETURN_IF_ERROR(read("start", range.from_ns));
  if (range.to_ns <= range.from_ns) return Error(Code::kInvalid, "end must be after start");
  return range;
}

// Routes that take no time look everywhere, or a week back.
query::TimeRange AskedFor(const HttpRequest& request) {
  const JaegerParameters p = ReadParameters(request);
  const auto range = ReadTimes(p);
  const bool says = p.contains("start") || p.contains("end") || p.contains("lookback");
  return says && range ? *range : query::TimeRange{0, INT64_MAX};
}

// Some tags are columns here.
bool TakeSpecialTag(const std::string& key, const std::string& value, query::SpanSearch& search) {
  static constexpr std::array<std::string_view, 6> kKinds = {"unspecified", "internal", "server",
                                                             "client",      "producer", "consumer"};
  if (key == "error" && value == "true") {
    search.status_code = 2;
    return true;
  }
  if (key == "otel.status_code" && (value == "OK" || value == "ERROR")) {
    search.status_code = value == "OK" ? 1 : 2;
    return true;
  }
  const auto* const kind = std::find(kKinds.begin(), kKinds.end(), value);
  if (key != "span.kind" || kind == kKinds.end()) return false;
  search.kind = static_cast<int>(kind - kKinds.begin());
  return true;
}

Result<query::SpanSearch> ReadSearch(const JaegerParameters& p) {
  query::SpanSearch search;
  WHEREFORE_ASSIGN_OR_RETURN(search.range, ReadTimes(p));
  search.service = Get(p, "service");
  search.name = Get(p, "operation");
  if (search.service.empty()) return Error(Code::kInvalid, "parameter 'service' is required");
  if (search.name == "all") search.name.clear();
  const auto duration = [&](const std::string& name, std::int64_t& ns) -> Result<> {
    if (const std::string text = Get(p, name); !text.empty()) {
      WHEREFORE_ASSIGN_OR_RETURN(ns, ParseDuration(text));
    }
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(duration("minDuration", search.min_duration_ns));
  WHEREFORE_RETURN_IF_ERROR(duration("maxDuration", search.max_duration_ns));
  for (const char* name : {"tags", "tag"}) {
    const auto [begin, end] = p.equal_range(name);
    for (auto it = begin; it != end; ++it) {
      WHEREFORE_ASSIGN_OR_RETURN(const auto tags, formats::ParseJaegerTags(it->second));
      for (const auto& [key, value] : tags) {
        if (!TakeSpecialTag(key, value, search)) search.attributes.emplace_back(key, value);
      }
    }
  }
  return search;
}

}  // namespace

void JaegerApi::AddRoutes(net::Router& router) {
  using net::WorkKind;
  const auto add = [&](const std::string& path, const std::string& name, WorkKind kind,
                       Answer answer) {
    for (const std::string& prefix : {std::string("/api/"), std::string("/jaeger/api/")}) {
      AddHttpQuery(
          router, workers_,
          {.pattern = prefix + path,
           .name = "jaeger_" + name,
           .kind = kind,
           .timeout_ns = operations_.query_timeout_ns,
           .memory_bytes = operations_.query_memory_bytes,
           .catch_up = operations_.catch_up,
           .answer = [this, answer](HttpRequest& request) { return (this->*answer)(request); },
           .failure = Failure,
           .mark =
               [this](const HttpRequest& request, HttpResponse& response) {
                 if (const auto tenant = operations_.tenant_of(request))
                   MarkIncomplete(operations_, *tenant, AskedFor(request), response.headers);
               }});
    }
  };
  add("services", "services", WorkKind::kQuick, &JaegerApi::Services);
  add("services/{service}/operations", "operations", WorkKind::kQuick, &JaegerApi::OperationNames);
  add("operations", "operations", WorkKind::kQuick, &JaegerApi::OperationList);
  add("traces/{id}", "trace", WorkKind::kHeavy, &JaegerApi::OneTrace);
  add("traces", "search", WorkKind::kHeavy, &JaegerApi::Search);
  add("dependencies", "dependencies", WorkKind::kHeavy, &JaegerApi::Dependencies);
}

Result<HttpResponse> JaegerApi::Services(const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t tenant, operations_.tenant_of(request));
  WHEREFORE_ASSIGN_OR_RETURN(const auto names,
                             query::SpanNames(context_, tenant, LastWeek(), request.cancel));
  std::set<std::string> services;
  for (const auto& [service, name] : names) services.insert(service);
  return Names({services.begin(), services.end()});
}

Result<std::vector<std::string>> JaegerApi::NamesOf(const HttpRequest& request,
                                                    const std::string& service) {
  if (service.empty()) return Error(Code::kInvalid, "parameter 'service' is required");
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t tenant, operations_.tenant_of(request));
  WHEREFORE_ASSIGN_OR_RETURN(const auto names,
                             query::SpanNames(context_, tenant, LastWeek(), request.cancel));
  std::vector<std::string> out;
  for (const auto& [owner, name] : names) {
    if (owner == service) out.push_back(name);
  }
  return out;
}

Result<HttpResponse> JaegerApi::OperationNames(const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto names,
                             NamesOf(request, std::string(request.Header(":service"))));
  return Names(names);
}

Result<HttpResponse> JaegerApi::OperationList(const HttpRequest& request) {
  const JaegerParameters p = ReadParameters(request);
  WHEREFORE_ASSIGN_OR_RETURN(const auto names, NamesOf(request, Get(p, "service")));
  return Success(names.size(), [&](JsonWriter& json) {
    for (const std::string& name : names) {
      json.BeginObject().Field("name", name).Field("spanKind", Get(p, "spanKind")).EndObject();
    }
  });
}

Result<HttpResponse> JaegerApi::OneTrace(const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto trace, ReadTraceId(request.Header(":id")));
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t tenant, operations_.tenant_of(request));
  WHEREFORE_ASSIGN_OR_RETURN(const auto spans,
                             query::Trace(context_, tenant, trace, request.cancel));
  if (spans.empty()) return Error(Code::kNotFound, "trace not found");
  return Success(1, [&](JsonWriter& json) { AppendJaegerTrace(json, spans); });
}

Result<HttpResponse> JaegerApi::Search(const HttpRequest& request) {
  const JaegerParameters p = ReadParameters(request);
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t tenant, operations_.tenant_of(request));
  std::vector<profile::TraceId> traces;
  const auto [begin, end] = p.equal_range("traceID");
  for (auto it = begin; it != end; ++it) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto trace, ReadTraceId(it->second));
    traces.push_back(trace);
  }
  if (traces.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(auto search, ReadSearch(p));
    search.tenant = tenant;
    const auto limit = ParseUint(Get(p, "limit").empty() ? "20" : Get(p, "limit"));
    if (!limit || *limit == 0 || *limit > kMostTraces) {
      return Error(Code::kInvalid,
                   fmt::format("parameter 'limit': expected a number up to {}", kMostTraces));
    }
    search.limit = static_cast<std::size_t>(*limit);
    WHEREFORE_ASSIGN_OR_RETURN(traces, query::FindTraces(context_, search, request.cancel));
  }
  std::vector<std::vector<query::SpanRow>> found;
  for (const profile::TraceId& trace : traces) {
    WHEREFORE_ASSIGN_OR_RETURN(auto spans, query::Trace(context_, tenant, trace, request.cancel));
    if (!spans.empty()) found.push_back(std::move(spans));
  }
  return Success(found.size(), [&](JsonWriter& json) {
    for (const auto& spans : found) AppendJaegerTrace(json, spans);
  });
}

// Calls from service to service, counted over the newest spans of the range.
Result<HttpResponse> JaegerApi::Dependencies(const HttpRequest& request) {
  const JaegerParameters p = ReadParameters(request);
  const std::int64_t now_ms = NowUnixNs() / 1'000'000;
  const auto end = ParseInt(Get(p, "endTs")).value_or(now_ms);
  const auto lookback = ParseInt(Get(p, "lookback")).value_or(24 * 3'600'000);
  if (end < 0 || end > INT64_MAX / 2'000'000 || lookback <= 0 || lookback > INT64_MAX / 2'000'000) {
    return Error(Code::kInvalid, "endTs and lookback are milliseconds");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t tenant, operations_.tenant_of(request));
  const query::SpanSearch search{
      .tenant = tenant,
      .range = {std::max<std::int64_t>(end - lookback, 0) * 1'000'000, (end + 1) * 1'000'000},
      .limit = kMostSpans};
  WHEREFORE_ASSIGN_OR_RETURN(const auto spans,
                             query::SearchSpans(context_, search, request.cancel));
  std::map<std::pair<profile::TraceId, profile::SpanId>, const std::string*> owners;
  for (const query::SpanRow& s : spans) owners[{s.trace, s.id}] = &s.service_name;
  std::map<std::pair<std::string, std::string>, std::int64_t> calls;
  for (const query::SpanRow& s : spans) {
    const auto parent = owners.find({s.trace, s.parent});
    if (parent == owners.end() || *parent->second == s.service_name) continue;
    ++calls[{*parent->second, s.service_name}];
  }
  return Success(calls.size(), [&](JsonWriter& json) {
    for (const auto& [edge, count] : calls) {
      json.BeginObject().Field("parent", edge.first).Field("child", edge.second);
      json.Field("callCount", count).EndObject();
    }
  });
}

}  // namespace wherefore::api
