#include "api/adhoc.h"

#include <algorithm>
#include <map>
#include <random>

#include <fmt/format.h>

#include "api/open_file.h"
#include "api/pyroscope_request.h"
#include "api/run.h"
#include "base/clock.h"
#include "formats/formats.h"
#include "formats/trees/flamebearer.h"
#include "profile/batch_tree.h"
#include "query/diff.h"

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
  const Caller caller{.tenant = tenant, .json = request.json, .cancel = request.cancel};
  switch (method) {
    case AdHocMethod::kUpload:
      return Upload(caller, std::move(message));
    case AdHocMethod::kGet:
      return Get(caller, message);
    case AdHocMethod::kList:
      return List(caller);
    case AdHocMethod::kDiff:
      return Diff(caller, message);
  }
  return Error(Code::kUnsupported, "no such method");
}

Result<std::string> AdHocApi::Upload(const Caller& caller, AdHocRequest request) {
  if (request.profile.size() > MostBytes()) {
    return Error(Code::kLimit, fmt::format("at most {} bytes can be kept", MostBytes()));
  }
  const std::int64_t now_ms = NowUnixNs() / 1'000'000;
  File file{.tenant = caller.tenant,
            .id = NewId(now_ms, request.name),
            .name = request.name,
            .uploaded_ms = now_ms,
            .bytes = std::make_shared<const std::string>(std::move(request.profile))};
  // What cannot be read is not kept.
  WHEREFORE_ASSIGN_OR_RETURN(std::string answer, Show(caller, file, request));
  Keep(std::move(file));
  return answer;
}

Result<std::string> AdHocApi::Get(const Caller& caller, const AdHocRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const File file, Find(caller.tenant, request.id));
  return Show(caller, file, request);
}

Result<std::string> AdHocApi::Show(const Caller& caller, const File& file,
                                   const AdHocRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t max_nodes, ReadMaxNodes(request.max_nodes));
  WHEREFORE_ASSIGN_OR_RETURN(const OpenedFile opened,
                             OpenFile(file.bytes, request.profile_type, caller.cancel));
  WHEREFORE_RETURN_IF_ERROR(caller.cancel.Charge(opened.tree.bytes()));
  const auto merged = formats::MergedByName(opened.tree);
  WHEREFORE_RETURN_IF_ERROR(caller.cancel.Check());
  const auto tree = profile::Prune(merged, {.max_nodes = max_nodes});
  WHEREFORE_RETURN_IF_ERROR(caller.cancel.Check());
  return formats::EncodeAdHocProfile({.id = file.id,
                                      .name = file.name,
                                      .uploaded_ms = file.uploaded_ms,
                                      .profile_type = opened.type,
                                      .profile_types = opened.types,
                                      .flamebearer = formats::EncodeFlamebearer(Describe(
                                          formats::ToFlameGraph(tree), opened.type, tree.unit))},
                                     caller.json);
}

Result<std::string> AdHocApi::List(const Caller& caller) {
  std::vector<formats::AdHocProfile> profiles;
  {
    MutexLock lock(mutex_);
    for (const File& file : files_) {
      if (file.tenant != caller.tenant) continue;
      profiles.push_back({.id = file.id, .name = file.name, .uploaded_ms = file.uploaded_ms});
    }
  }
  std::sort(profiles.begin(), profiles.end(),
            [](const auto& a, const auto& b) { return a.id > b.id; });
  return formats::EncodeAdHocList(profiles, caller.json);
}

Result<std::string> AdHocApi::Diff(const Caller& caller, const AdHocRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t max_nodes, ReadMaxNodes(request.max_nodes));
  WHEREFORE_ASSIGN_OR_RETURN(const File left_file, Find(caller.tenant, request.id));
  WHEREFORE_ASSIGN_OR_RETURN(const File right_file, Find(caller.tenant, request.right_id));
  WHEREFORE_ASSIGN_OR_RETURN(const OpenedFile left,
                             OpenFile(left_file.bytes, request.profile_type, caller.cancel));
  WHEREFORE_ASSIGN_OR_RETURN(
      const OpenedFile right,
      OpenFile(right_file.bytes, request.profile_type.empty() ? left.type : request.profile_type,
               caller.cancel));
  // Merged by name, and their difference.
  WHEREFORE_RETURN_IF_ERROR(caller.cancel.Charge(2 * (left.tree.bytes() + right.tree.bytes())));
  const query::DiffTree diff =
      query::Diff(formats::MergedByName(left.tree), formats::MergedByName(right.tree));
  WHEREFORE_RETURN_IF_ERROR(caller.cancel.Check());
  const auto graph = formats::ToFlameGraphDiff(
      {.tree = &diff.tree, .left_total = diff.before, .left_self = diff.before_self}, max_nodes);
  std::vector<std::string> common;
  for (const std::string& type : left.types) {
    if (std::find(right.types.begin(), right.types.end(), type) != right.types.end()) {
      common.push_back(type);
    }
  }
  return formats::EncodeAdHocDiff(
      common, formats::EncodeFlamebearer(Describe(graph, left.type, left.tree.unit)), caller.json);
}

void AdHocApi::Keep(File file) {
  MutexLock lock(mutex_);
  bytes_ += file.bytes->size();
  files_.push_front(std::move(file));
  while (files_.size() > kMostFiles || bytes_ > MostBytes()) {
    bytes_ -= files_.back().bytes->size();
    files_.pop_back();
  }
  memory_.Set(bytes_);
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
