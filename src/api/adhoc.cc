#include "api/adhoc.h"

#include <algorithm>
#include <map>
#include <random>

#include <fmt/format.h>

#include "api/open_file.h"
#include "api/pyroscope_request.h"
#include "api/run.h"
#include "base/clock.h"
#include "formats/flamebearer.h"
#include "formats/formats.h"
#include "profile/batch_tree.h"

namespace wherefore::api {
namespace {

using formats::AdHocMethod;
using formats::AdHocRequest;

formats::Flamebearer Describe(formats::FlameGraph graph, const std::string& type,
                              const std::string& unit) {
  formats::Flamebearer file{.graph = std::move(graph)};
  formats::DescribeUnits(type, unit, file);
  return file;
}

// Sorts by time, as ULIDs do: 10 digits of milliseconds, 16 at random, then the name.
std::string NewId(std::int64_t now_ms, std::string_view name) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string id(26, '0');
  for (std::size_t i = 10; i-- > 0; now_ms >>= 5) {
    id[i] = kDigits[static_cast<std::size_t>(now_ms & 31)];
  }
  std::random_device random;
  for (std::size_t i = 10; i < id.size(); ++i) id[i] = kDigits[random() % kDigits.size()];
  id += '-';
  for (const char c : name.substr(0, 100)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_';
    id += plain ? c : '_';
  }
  return id;
}

}  // namespace

void AdHocApi::AddRoutes(net::Router& http, net::GrpcRouter& grpc) {
  const auto add = [&](AdHocMethod method, const std::string& name,
                       net::WorkKind kind = net::WorkKind::kFile) {
    Histogram& seconds = AnswerSeconds("adhoc_" + name);
    net::AddUnary(http, grpc, "/adhocprofiles.v1.AdHocProfileService/" + name,
                  [this, method, kind, &seconds](const net::UnaryRequest& request,
                                                 const net::UnaryRespond& respond) {
                    const bool accepted = RunOnWorker<std::string>(
                        workers_,
                        {.path = request.method,
                         .cancel = request.cancel,
                         .timeout_ns = operations_.query_timeout_ns,
                         .memory_bytes = operations_.query_memory_bytes,
                         .seconds = &seconds,
                         .kind = kind,
                         .answer = [this, method, request] { return Answer(method, request); },
                         .respond = respond});
                    if (!accepted) respond(net::TooBusy(kind));
                  });
  };
  add(AdHocMethod::kUpload, "Upload");
  add(AdHocMethod::kGet, "Get");
  add(AdHocMethod::kList, "List", net::WorkKind::kQuick);
  add(AdHocMethod::kDiff, "Diff");
}

Result<std::string> AdHocApi::Answer(AdHocMethod method, const net::UnaryRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto tenant, operations_.require_tenant(request.headers));
  WHEREFORE_ASSIGN_OR_RETURN(auto message,
                             formats::DecodeAdHocRequest(method, *request.body, request.json));
  switch (method) {
    case AdHocMethod::kUpload:
      return Upload(tenant, std::move(message), request.json);
    case AdHocMethod::kGet:
      return Get(tenant, message, request.json);
    case AdHocMethod::kList:
      return List(tenant, request.json);
    case AdHocMethod::kDiff:
      return Diff(tenant, message, request.json);
  }
  return Error(Code::kUnsupported, "no such method");
}

Result<std::string> AdHocApi::Upload(std::uint32_t tenant, AdHocRequest request, bool json) {
  if (request.profile.size() > kMostBytes) {
    return Error(Code::kLimit, fmt::format("at most {} bytes can be kept", kMostBytes));
  }
  const std::int64_t now_ms = NowUnixNs() / 1'000'000;
  File file{.tenant = tenant,
            .id = NewId(now_ms, request.name),
            .name = request.name,
            .uploaded_ms = now_ms,
            .bytes = std::make_shared<const std::string>(std::move(request.profile))};
  request.id = file.id;
  // What cannot be read is not kept.
  WHEREFORE_RETURN_IF_ERROR(OpenFile(file.bytes, request.profile_type));
  Keep(std::move(file));
  return Get(tenant, request, json);
}

Result<std::string> AdHocApi::Get(std::uint32_t tenant, const AdHocRequest& request, bool json) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t max_nodes, ReadMaxNodes(request.max_nodes));
  WHEREFORE_ASSIGN_OR_RETURN(const File file, Find(tenant, request.id));
  WHEREFORE_ASSIGN_OR_RETURN(const OpenedFile opened, OpenFile(file.bytes, request.profile_type));
  const auto tree = profile::Prune(formats::MergedByName(opened.tree), {.max_nodes = max_nodes});
  return formats::EncodeAdHocProfile({.id = file.id,
                                      .name = file.name,
                                      .uploaded_ms = file.uploaded_ms,
                                      .profile_type = opened.type,
                                      .profile_types = opened.types,
                                      .flamebearer = formats::EncodeFlamebearer(Describe(
                                          formats::ToFlameGraph(tree), opened.type, tree.unit))},
                                     json);
}

Result<std::string> AdHocApi::List(std::uint32_t tenant, bool json) {
  std::vector<formats::AdHocProfile> profiles;
  {
    MutexLock lock(mutex_);
    for (const File& file : files_) {
      if (file.tenant != tenant) continue;
      profiles.push_back({.id = file.id, .name = file.name, .uploaded_ms = file.uploaded_ms});
    }
  }
  std::sort(profiles.begin(), profiles.end(),
            [](const auto& a, const auto& b) { return a.id > b.id; });
  return formats::EncodeAdHocList(profiles, json);
}

Result<std::string> AdHocApi::Diff(std::uint32_t tenant, const AdHocRequest& request, bool json) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t max_nodes, ReadMaxNodes(request.max_nodes));
  WHEREFORE_ASSIGN_OR_RETURN(const File left_file, Find(tenant, request.id));
  WHEREFORE_ASSIGN_OR_RETURN(const File right_file, Find(tenant, request.right_id));
  WHEREFORE_ASSIGN_OR_RETURN(const OpenedFile left,
                             OpenFile(left_file.bytes, request.profile_type));
  WHEREFORE_ASSIGN_OR_RETURN(
      const OpenedFile right,
      OpenFile(right_file.bytes, request.profile_type.empty() ? left.type : request.profile_type));
  const query::DiffTree diff =
      query::Diff(formats::MergedByName(left.tree), formats::MergedByName(right.tree));
  const auto graph = formats::ToFlameGraphDiff(
      {.tree = &diff.tree, .left_total = diff.before, .left_self = diff.before_self}, max_nodes);
  std::vector<std::string> common;
  for (const std::string& type : left.types) {
    if (std::find(right.types.begin(), right.types.end(), type) != right.types.end()) {
      common.push_back(type);
    }
  }
  return formats::EncodeAdHocDiff(
      common, formats::EncodeFlamebearer(Describe(graph, left.type, left.tree.unit)), json);
}

void AdHocApi::Keep(File file) {
  MutexLock lock(mutex_);
  bytes_ += file.bytes->size();
  files_.push_front(std::move(file));
  while (files_.size() > kMostFiles || bytes_ > kMostBytes) {
    bytes_ -= files_.back().bytes->size();
    files_.pop_back();
  }
}

Result<AdHocApi::File> AdHocApi::Find(std::uint32_t tenant, const std::string& id) {
  MutexLock lock(mutex_);
  const auto it = std::find_if(files_.begin(), files_.end(), [&](const File& file) {
    return file.tenant == tenant && file.id == id;
  });
  if (it == files_.end()) {
    return Error(Code::kNotFound,
                 fmt::format("no uploaded profile has the id '{}'; they are kept in memory, the "
                             "last {} of them",
                             id, kMostFiles));
  }
  files_.splice(files_.begin(), files_, it);
  return files_.front();
}

}  // namespace wherefore::api
