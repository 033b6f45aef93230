#include "gateway/profiling/routes.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "net/tenant.h"

namespace wherefore::gateway {
namespace {

using net::HttpRequest;
using net::HttpResponse;

HttpResponse PlainText(std::string_view text) {
  return {.content_type = "text/plain; charset=utf-8", .body = std::string(text)};
}

void WriteWords(JsonWriter& json, const ProfilingControl& control, const std::string& tenant,
                const std::string& service) {
  json.Key("services").BeginArray();
  for (const auto& [name, word] : control.Words(tenant)) {
    if (!service.empty() && name != service && !name.empty()) continue;
    json.BeginObject().Field("service", name).Field("enabled", word.enabled);
    if (word.sample_rate) json.Field("sample_rate", *word.sample_rate);
    if (word.types) {
      json.Key("types").BeginArray();
      for (const std::string& type : *word.types) json.String(type);
      json.EndArray();
    }
    if (word.until_ns != 0) json.Field("until_ms", word.until_ns / 1'000'000);
    json.EndObject();
  }
  json.EndArray();
}

void WriteInstances(JsonWriter& json, const std::vector<AgentState>& agents,
                    const ProfilingControl& control, const std::string& tenant,
                    const std::string& service) {
  json.Key("instances").BeginArray();
  for (const AgentState& agent : agents) {
    if (!service.empty() && agent.service != service) continue;
    json.BeginObject().Field("service", agent.service).Field("instance", agent.instance);
    json.Field("enabled", control.IsOn(tenant, agent.service)).Field("state", agent.state);
    if (!agent.error.empty()) json.Field("error", agent.error);
    json.Field("seen_ms", agent.seen_ns / 1'000'000).EndObject();
  }
  json.EndArray();
}

// Whether ?instances=true, the only parameter, and only of GET.
Result<bool> ReadInstances(const HttpRequest& request) {
  bool instances = false;
  for (const auto& [name, value] : request.QueryParameters()) {
    if (name != "instances" || request.method == "POST" || request.method == "DELETE") {
      return Error(Code::kInvalid, fmt::format("unknown parameter {}", name));
    }
    if (value != "true" && value != "false") {
      return Error(Code::kInvalid, "instances: expected true or false");
    }
    instances = value == "true";
  }
  return instances;
}

HttpResponse Get(const ProfilingControl& control, const OpampServer& opamp, bool instances,
                 const std::string& tenant, const std::string& service) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Field("enabled", control.IsOn(tenant, service));
  if (instances) {
    WriteWords(json, control, tenant, service);
    WriteInstances(json, opamp.Agents(tenant, NowUnixNs()), control, tenant, service);
  }
  json.EndObject();
  return {.body = body + "\n"};
}

HttpResponse Post(ProfilingControl& control, const std::string& tenant, const std::string& service,
                  std::string_view body) {
  auto request = ReadProfilingRequest(body);
  if (!request) return net::JsonError(request.error());
  if (request->for_ns > 0) request->word.until_ns = NowUnixNs() + request->for_ns;
  if (const Result<> set = control.Set(tenant, service, std::move(request->word)); !set) {
    return net::JsonError(set.error());
  }
  return PlainText("Profiling enabled");
}

HttpResponse Delete(ProfilingControl& control, const std::string& tenant,
                    const std::string& service) {
  if (const Result<> set = control.Set(tenant, service, {.enabled = false}); !set) {
    return net::JsonError(set.error());
  }
  return PlainText("Profiling disabled");
}

}  // namespace

void AddProfilingRoutes(net::Router& router, ProfilingControl& control, const OpampServer& opamp,
                        bool tenants) {
  for (const std::string_view path : {"/api/v1/profiling", "/api/v1/profiling/{service}"}) {
    for (const char* const method : {"GET", "POST", "DELETE"}) {
      router.Add(
          method, path,
          [&control, &opamp, tenants](const HttpRequest& request, const net::Respond& respond) {
            const auto tenant = net::RequireTenant(request.headers, tenants);
            if (!tenant) return respond(net::JsonError(tenant.error()));
            const auto instances = ReadInstances(request);
            if (!instances) return respond(net::JsonError(instances.error()));
            const std::string name(*tenant);
            const std::string service(request.Header(":service"));
            if (request.method == "POST")
              return respond(Post(control, name, service, *request.body));
            if (request.method == "DELETE") return respond(Delete(control, name, service));
            respond(Get(control, opamp, *instances, name, service));
          });
    }
  }
}

}  // namespace wherefore::gateway
