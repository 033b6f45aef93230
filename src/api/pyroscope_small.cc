// The small services around Pyroscope's: settings, recording rules, feature flags, version, source
// code. Grafana's app asks for all of them; most of the answers are "none".
#include <fmt/format.h>

#include "api/pyroscope.h"

namespace wherefore::api {

void PyroscopeApi::AddSmallServices(net::Router& http, net::GrpcRouter& grpc) {
  // `binary` and `json` are the same message.
  const auto constant = [&](const std::string& method, const std::string& binary,
                            const std::string& json) {
    net::AddUnary(
        http, grpc, method,
        [this, binary, json](const net::UnaryRequest& request, const net::UnaryRespond& respond) {
          const auto tenant = operations_.require_tenant(request.headers);
          if (!tenant) return respond(tenant.error());
          respond(request.json ? json : binary);
        });
  };
  constant("/settings.v1.SettingsService/Get", "", "{}");
  constant("/settings.v1.RecordingRulesService/ListRecordingRules", "", "{}");
  constant("/capabilities.v1.FeatureFlagsService/GetFeatureFlags", "", "{}");
  constant("/version.v1.Version/Version", std::string("\x08\x01", 2), R"({"QuerierAPI":"1"})");

  const auto missing = [&](const std::string& service, std::initializer_list<const char*> methods,
                           const std::string& why) {
    for (const char* const method : methods) {
      net::AddUnary(http, grpc, fmt::format("/{}/{}", service, method),
                    [why](const net::UnaryRequest&, const net::UnaryRespond& respond) {
                      respond(Error(Code::kUnsupported, why));
                    });
    }
  };
  missing("settings.v1.SettingsService", {"Set", "Delete"}, "settings are not kept here");
  missing("settings.v1.RecordingRulesService",
          {"GetRecordingRule", "UpsertRecordingRule", "DeleteRecordingRule"},
          "there are no recording rules here");
  missing("vcs.v1.VCSService",
          {"GithubApp", "GithubLogin", "GithubRefresh", "GetFile", "GetCommit", "GetCommits"},
          "source code is not fetched from here");
}

}  // namespace wherefore::api
