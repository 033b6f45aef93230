#include "gateway/pyroscope_receiver.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "gateway/ingest_request.h"
#include "net/tenant.h"

namespace wherefore::gateway {
namespace {

using formats::UploadedProfile;

constexpr const char* kPushMethod = "/push.v1.PusherService/Push";

// Collects the results of one request's profiles; calls `done` after the last one.
class Join {
 public:
  using Done = std::function<void(Result<profile::WriteAnswer>)>;
  Join(std::size_t count, Done done) : left_(count), done_(std::move(done)) {}

  void Add(Result<profile::WriteAnswer> result) {
    Done done;
    Result<profile::WriteAnswer> all = Error(Code::kInternal, "not answered");
    {
      MutexLock lock(mutex_);
      if (!result) {
        if (!failure_) failure_ = result.error();
      } else {
        answer_.rejected += result->rejected;
        if (!answer_.message.empty() && !result->message.empty()) answer_.message += "; ";
        answer_.message += result->message;
      }
      if (--left_ > 0) return;
      done = std::move(done_);
      all = failure_ ? Result<profile::WriteAnswer>(*failure_) : std::move(answer_);
    }
    done(std::move(all));
  }

 private:
  Mutex mutex_;
  std::size_t left_ GUARDED_BY(mutex_);
  Done done_ GUARDED_BY(mutex_);
  profile::WriteAnswer answer_ GUARDED_BY(mutex_);
  std::optional<Error> failure_ GUARDED_BY(mutex_);
};

// A different identity for each profile of a request.
Hash128 PartOf(Hash128 identity, std::size_t index) {
  return HashBytes(&identity, sizeof identity, index + 1);
}

std::uint64_t Seed(const profile::Tenant& tenant, Transport transport) {
  return (std::uint64_t{tenant.number} << 8) | (0x10U + static_cast<std::uint64_t>(transport));
}

// Pyroscope's status for "understood, but cannot be stored".
net::HttpResponse Unprocessable(const std::string& message) {
  net::HttpResponse response = net::ConnectError(Error(Code::kInvalid, message));
  response.status = 422;
  return response;
}

net::HttpResponse IngestFailure(const Error& error) {
  return net::ConnectError(Error(error.code(), Sendable(error.message())));
}

}  // namespace

Result<profile::Tenant> PyroscopeReceiver::Tenant(const net::Headers& headers) const {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string_view name,
                             net::RequireTenant(headers, options_.tenants));
  return profile::Tenant(name);
}

void PyroscopeReceiver::WriteAll(const Request& request, std::vector<UploadedProfile> profiles,
                                 Done done) {
  if (profiles.empty()) return done(profile::WriteAnswer{});
  auto join = std::make_shared<Join>(profiles.size(), std::move(done));
  const std::size_t count = profiles.size();
  for (std::size_t i = 0; i < count; ++i) {
    Intake::Origin origin{.tenant = request.tenant,
                          .identity = PartOf(request.identity, i),
                          .body_bytes = request.body_bytes / count};
    if (profiles[i].cumulative) origin.counters = profile::FirstReading::kCountsWhole;
    intake_.Write(origin, std::move(profiles[i].decoded),
                  [join](Result<profile::WriteAnswer> result) { join->Add(std::move(result)); });
  }
}

void PyroscopeReceiver::Ingest(const net::HttpRequest& request, const net::Respond& respond) {
  intake_.metrics().Received(formats::Signal::kProfiles, Transport::kIngest, request.body->size());
  const auto refuse = [&](const Error& error) {
    intake_.metrics().Refused(formats::Signal::kProfiles, ReasonOf(error.code()));
    respond(IngestFailure(error));
  };
  const Result<profile::Tenant> tenant = Tenant(request.headers);
  if (!tenant) return refuse(tenant.error());
  const Result<formats::IngestUpload> upload = ReadIngest(request, NowUnixNs());
  if (!upload) return refuse(upload.error());
  Result<std::vector<UploadedProfile>> profiles = formats::DecodeIngest(*upload);
  if (!profiles) {
    const Error& error = profiles.error();
    // Over a permanent limit: the sender must not retry.
    if (error.code() != Code::kLimit) return refuse(error);
    intake_.metrics().Refused(formats::Signal::kProfiles, "too_large");
    return respond(net::ConnectRefusal(request, 413, error));
  }
  const std::size_t files = profiles->size();
  const Hash128 body = HashString(*request.body, Seed(*tenant, Transport::kIngest));
  const Hash128 query = HashString(request.query);
  const Hash128 identity{.low = body.low ^ query.low, .high = body.high ^ query.high};
  std::size_t types = 0;
  for (const UploadedProfile& p : *profiles) types += p.decoded.data.profiles.size();
  WriteAll({*tenant, identity, request.body->size()}, *std::move(profiles),
           [respond, types, files](Result<profile::WriteAnswer> result) {
             if (!result) return respond(IngestFailure(result.error()));
             if (files > 0 && result->rejected >= std::max<std::size_t>(types, 1)) {
               return respond(Unprocessable(result->message));
             }
             net::HttpResponse response;
             response.content_type = "text/plain; charset=utf-8";
             respond(std::move(response));
           });
}

void PyroscopeReceiver::Push(const net::UnaryRequest& request, const net::UnaryRespond& respond) {
  intake_.metrics().Received(formats::Signal::kProfiles, Transport::kPush, request.body->size());
  const auto refuse = [&](const Error& error) {
    intake_.metrics().Refused(formats::Signal::kProfiles, ReasonOf(error.code()));
    respond(Error(error.code(), Sendable(error.message())));
  };
  const Result<profile::Tenant> tenant = Tenant(request.headers);
  if (!tenant) return refuse(tenant.error());
  Result<formats::DecodedPush> push =
      formats::DecodePushRequest(*request.body, request.json, NowUnixNs());
  if (!push) return refuse(push.error());
  std::string refused;
  if (!push->refused.empty()) {
    intake_.metrics().Rejected(formats::Signal::kProfiles, push->refused.size());
    push->refused.resize(std::min<std::size_t>(push->refused.size(), 5));
    refused = fmt::format("{} profiles were stored; refused: {}", push->profiles.size(),
                          fmt::join(push->refused, "; "));
  }
  std::size_t types = 0;
  for (const UploadedProfile& p : push->profiles) types += p.decoded.data.profiles.size();
  WriteAll(
      {*tenant, HashString(*request.body, Seed(*tenant, Transport::kPush)), request.body->size()},
      std::move(push->profiles),
      [respond, refused, types, json = request.json](Result<profile::WriteAnswer> result) {
        if (!result) return respond(Error(result.error().code(), result.error().message()));
        if (!refused.empty()) return respond(Error(Code::kInvalid, Sendable(refused)));
        if (types > 0 && result->rejected >= types) {
          return respond(Error(Code::kInvalid, result->message));
        }
        respond(std::string(json ? "{}" : ""));
      });
}

void PyroscopeReceiver::AddRoutes(net::Router& http, net::GrpcRouter& grpc) {
  for (const char* path : {"/ingest", "/pyroscope/ingest"}) {
    http.Add("POST", path, [this](const net::HttpRequest& request, const net::Respond& respond) {
      Ingest(request, respond);
    });
    http.SetRefusalFormat(path, net::ConnectRefusal);
  }
  net::AddUnary(http, grpc, kPushMethod,
                [this](const net::UnaryRequest& request, const net::UnaryRespond& respond) {
                  Push(request, respond);
                });
}

}  // namespace wherefore::gateway
