// The routes of the API over data of a test, asked without a socket.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "api/adhoc.h"
#include "api/api.h"
#include "api/jaeger.h"
#include "api/pyroscope.h"
#include "base/test_directory.h"
#include "net/http.h"
#include "net/unary.h"
#include "net/worker_pool.h"
#include "profile/tenant.h"
#include "query/test_data.h"

namespace wherefore::api {

class Served {
 public:
  explicit Served(query::Kept kept)
      : data_(kept),
        context_(data_.reader()),
        api_(context_, workers_, MakeOperations()),
        pyroscope_(context_, workers_, MakeOperations()),
        jaeger_(context_, workers_, MakeOperations()),
        adhoc_(workers_, MakeOperations()) {
    api_.AddRoutes(http_);
    jaeger_.AddRoutes(http_);
    pyroscope_.AddRoutes(http_, grpc_);
    adhoc_.AddRoutes(http_, grpc_);
  }

  [[nodiscard]] query::TestData& data() { return data_; }
  [[nodiscard]] net::Router& http() { return http_; }
  [[nodiscard]] TestDirectory& sources() { return sources_; }

  // `target`: path and query, as in a request line.
  std::future<net::HttpResponse> Ask(const std::string& target, const std::string& method = "GET",
                                     std::string body = "", const net::Headers& headers = {}) {
    const std::size_t mark = std::min(target.find('?'), target.size());
    net::HttpRequest request{.method = method,
                             .path = target.substr(0, mark),
                             .query = target.substr(std::min(mark + 1, target.size())),
                             .headers = headers,
                             .body = std::make_shared<const std::string>(std::move(body))};
    auto answer = std::make_shared<std::promise<net::HttpResponse>>();
    auto future = answer->get_future();
    http_.Handle(std::move(request),
                 [answer](net::HttpResponse response) { answer->set_value(std::move(response)); });
    return future;
  }
  net::HttpResponse Get(const std::string& target) { return Ask(target).get(); }
  // A method of Pyroscope's services, in JSON.
  net::HttpResponse Call(const std::string& method, const std::string& json) {
    return Ask(method, "POST", json, {{"Content-Type", "application/json"}}).get();
  }
  net::GrpcResponse CallGrpc(const std::string& method, std::string message) {
    std::promise<net::GrpcResponse> answer;
    const net::GrpcHandler* const handler = grpc_.Find(method);
    if (handler == nullptr) {
      ADD_FAILURE() << method << " is not served";
      return {};
    }
    (*handler)({.method = method, .body = std::make_shared<const std::string>(std::move(message))},
               [&](net::GrpcResponse response) { answer.set_value(std::move(response)); });
    return answer.get_future().get();
  }

 private:
  Operations MakeOperations() {
    Operations operations;
    operations.flush = [this]() -> Result<> {
      data_.Flush();
      return {};
    };
    // The store's own part has its own tests; here it only matters what becomes of an answer.
    operations.remove = [](const query::Selection&, bool) -> Result<DeleteSummary> {
      return DeleteSummary{.samples = 3, .profiles = 2, .spans = 1};
    };
    operations.backup = [](const std::string& target) -> Result<BackupSummary> {
      if (target.empty()) return Error(Code::kInvalid, "where to?");
      return BackupSummary{.folder = "/backups/" + target, .summary = "all of it"};
    };
    operations.repair = [](bool really) -> Result<std::vector<std::string>> {
      return std::vector<std::string>{really ? "done" : "to do"};
    };
    operations.sql = [](const SqlAsked& asked, const CancelToken&) -> Result<SqlAnswered> {
      if (asked.statement != "SELECT 1") return Error(Code::kInvalid, "no such table");
      return SqlAnswered{.body =
                             "[\"a\\\"b\", \"n\"]\n[\"String\", \"Int64\"]\n"
                             "[\"99999999999999999\", 9007199254740992]\n"
                             "[\"x\", -9007199254740993]\n",
                         .cut = true};
    };
    operations.pins = [](std::uint32_t) -> Result<std::vector<PinnedWindow>> {
      return std::vector<PinnedWindow>{{.id = "1", .service = "shop", .why = "incident"}};
    };
    operations.set_pin = [](std::uint32_t, PinnedWindow pin) -> Result<PinnedWindow> {
      pin.id = "2";
      return pin;
    };
    operations.remove_pin = [](std::uint32_t, const std::string& id) -> Result<> {
      if (id == "1") return {};
      return Error(Code::kNotFound, "there is no pin '" + id + "'");
    };
    operations.kept = [](std::uint32_t) -> Result<std::vector<KeptDay>> {
      return std::vector<KeptDay>{{.kind = "spans", .day = "2026-11-15", .bytes = 5, .rows = 1}};
    };
    operations.not_ready_reason = [] { return std::string(); };
    operations.status = [](std::uint32_t) {
      return std::vector<Status>{{.part = "test", .facts = {{"fact", "yes"}}, .problems = {}}};
    };
    operations.incomplete = [](std::uint32_t, const query::TimeRange&) { return std::string(); };
    operations.tenant_of = [](const net::HttpRequest& request) -> Result<std::uint32_t> {
      return profile::Tenant(request.Header("X-Scope-OrgID")).number;
    };
    operations.require_tenant = [](const net::Headers&) -> Result<std::uint32_t> { return 0; };
    // A rule that nothing matches: what rules find has its own tests.
    operations.rules = {{.id = "nothing", .title = "Nothing", .fix = "Nothing to do."}};
    operations.version = "1.2.3";
    operations.source_roots = {sources_.path()};
    operations.ports = [] { return Operations::Ports{.otlp_grpc = 1, .otlp_http = 2}; };
    return operations;
  }

  TestDirectory sources_;
  query::TestData data_;
  query::QueryContext context_;
  Api api_;
  PyroscopeApi pyroscope_;
  JaegerApi jaeger_;
  AdHocApi adhoc_;
  net::Router http_;
  net::GrpcRouter grpc_;
  net::Workers workers_{2, 1000};  // ends first: its work uses all of the above
};

}  // namespace wherefore::api
