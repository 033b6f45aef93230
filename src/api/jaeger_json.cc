#include "api/jaeger_json.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "query/selector.h"
#include "query/span_details.h"

namespace wherefore::api {
namespace {

using Attribute = query::SpanDetails::Attribute;
using profile::Value;

constexpr std::array<std::string_view, 6> kKinds = {"",       "internal", "server",
                                                    "client", "producer", "consumer"};

void AppendTag(JsonWriter& json, std::string_view key, std::string_view value) {
  json.BeginObject().Field("key", key).Field("type", "string").Field("value", value).EndObject();
}

void AppendTag(JsonWriter& json, const Attribute& a) {
  json.BeginObject().Field("key", a.key);
  switch (a.kind) {
    case Value::Kind::kBool:
      json.Field("type", "bool").Key("value").Raw(a.text);
      break;
    case Value::Kind::kInt:
      json.Field("type", "int64").Key("value").Raw(a.text);
      break;
    case Value::Kind::kDouble:
      json.Field("type", "float64").Key("value");
      if (a.text.find_first_not_of("0123456789.+-e") == std::string::npos) {
        json.Raw(a.text);
      } else {
        json.String(a.text);  // NaN and infinity are no JSON numbers
      }
      break;
    case Value::Kind::kBytes:
      json.Field("type", "binary").Field("value", a.text);
      break;
    default:
      json.Field("type", "string").Field("value", a.text);
  }
  json.EndObject();
}

// What has columns of its own here is a tag there.
void AppendTags(JsonWriter& json, const query::SpanRow& span, const query::SpanDetails& details) {
  json.Key("tags").BeginArray();
  for (const Attribute& a : details.attributes) AppendTag(json, a);
  if (span.kind > 0 && span.kind < kKinds.size()) AppendTag(json, "span.kind", kKinds[span.kind]);
  if (span.status_code == 1) AppendTag(json, "otel.status_code", "OK");
  if (span.status_code == 2) {
    AppendTag(json, "otel.status_code", "ERROR");
    AppendTag(json, {.key = "error", .text = "true", .kind = Value::Kind::kBool});
  }
  if (!span.status_message.empty()) {
    AppendTag(json, "otel.status_description", span.status_message);
  }
  if (!details.scope_name.empty()) AppendTag(json, "otel.scope.name", details.scope_name);
  if (!details.scope_version.empty()) AppendTag(json, "otel.scope.version", details.scope_version);
  if (!details.trace_state.empty()) AppendTag(json, "w3c.tracestate", details.trace_state);
  json.EndArray();
}

void AppendReferences(JsonWriter& json, const query::SpanRow& span,
                      const query::SpanDetails& details) {
  const auto append = [&](std::string_view type, const profile::TraceId& trace,
                          const profile::SpanId& id) {
    json.BeginObject().Field("refType", type).Field("traceID", JaegerTraceId(trace));
    json.Field("spanID", ToHex(id)).EndObject();
  };
  json.Key("references").BeginArray();
  if (span.parent != profile::SpanId{}) append("CHILD_OF", span.trace, span.parent);
  for (const query::SpanDetails::Link& l : details.links) append("FOLLOWS_FROM", l.trace, l.span);
  json.EndArray();
}

void AppendLogs(JsonWriter& json, const query::SpanDetails& details) {
  json.Key("logs").BeginArray();
  for (const query::SpanDetails::Event& e : details.events) {
    json.BeginObject().Field("timestamp", e.time_ns / 1000).Key("fields").BeginArray();
    if (!e.name.empty()) AppendTag(json, "event", e.name);
    for (const auto& [key, value] : e.attributes) AppendTag(json, key, value);
    json.EndArray().EndObject();
  }
  json.EndArray();
}

void AppendSpan(JsonWriter& json, const query::SpanRow& span, const query::SpanDetails& details,
                std::string_view process) {
  json.BeginObject().Field("traceID", JaegerTraceId(span.trace)).Field("spanID", ToHex(span.id));
  json.Field("flags", details.flags & 0xff).Field("operationName", span.name);
  AppendReferences(json, span, details);
  json.Field("startTime", span.start_ns / 1000).Field("duration", span.duration_ns / 1000);
  AppendTags(json, span, details);
  AppendLogs(json, details);
  json.Field("processID", process).Key("warnings").Null().EndObject();
}

}  // namespace

std::string JaegerTraceId(const profile::TraceId& trace) {
  const std::string hex = ToHex(trace);
  return hex.starts_with(std::string(16, '0')) ? hex.substr(16) : hex;
}

void AppendJaegerTrace(JsonWriter& json, const std::vector<query::SpanRow>& spans) {
  json.BeginObject().Field("traceID", JaegerTraceId(spans.front().trace)).Key("spans").BeginArray();
  // A process is a service with its resource.
  using Process = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;
  std::map<Process, std::string> ids;
  std::vector<std::pair<std::string, std::pair<std::string, std::vector<Attribute>>>> processes;
  for (const query::SpanRow& span : spans) {
    const auto read = query::DescribeSpan(span);
    const query::SpanDetails details = read ? *read : query::SpanDetails();
    const auto [it, added] = ids.try_emplace({span.service_name, span.resource});
    if (added) {
      it->second = fmt::format("p{}", ids.size());
      processes.push_back({it->second, {span.service_name, details.resource}});
    }
    AppendSpan(json, span, details, it->second);
  }
  json.EndArray().Key("processes").BeginObject();
  for (const auto& [id, process] : processes) {
    json.Key(id).BeginObject().Field("serviceName", process.first).Key("tags").BeginArray();
    for (const Attribute& a : process.second) {
      if (!query::IsServiceLabel(a.key)) AppendTag(json, a);
    }
    json.EndArray().EndObject();
  }
  json.EndObject().Key("warnings").Null().EndObject();
}

}  // namespace wherefore::api
