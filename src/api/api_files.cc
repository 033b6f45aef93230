// Api: files people hand over to be looked at, one or two of them, and dropped again; or written in
// another format, which is how the page keeps one: as OTLP, sent to the server like anybody's.
#include <algorithm>

#include <fmt/format.h>

#include "api/api.h"
#include "api/export_file.h"
#include "api/open_file.h"
#include "api/request.h"
#include "base/clock.h"
#include "formats/multipart.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

struct NamedFile {
  std::string name;  // for what is wrong with it
  std::shared_ptr<const std::string> bytes;

  [[nodiscard]] Result<ProfileFile> Read(const std::string& service,
                                         const CancelToken& cancel) const {
    auto file = ProfileFile::Read(bytes, cancel, service);
    if (!file && !name.empty()) return std::move(file).error().Within(name);
    return file;
  }
};

struct Files {
  NamedFile file;
  NamedFile base;  // no bytes: only one
};

// A form with the file `file` and, for a difference, `base` (before); or the file itself.
Result<Files> ReadFiles(const HttpRequest& request) {
  if (request.ContentType() != "multipart/form-data") return Files{.file = {.bytes = request.body}};
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto parts, formats::ParseMultipart(*request.body, request.Header("Content-Type")));
  Files files;
  for (const formats::Part& part : parts) {
    if (part.name != "file" && part.name != "base")
      return Error(Code::kInvalid,
                   "form: expected the files 'file' and 'base', not '" + part.name + "'");
    NamedFile& place = part.name == "file" ? files.file : files.base;
    if (place.bytes != nullptr)
      return Error(Code::kInvalid, "form: more than one '" + part.name + "'; two files at most");
    place = {.name = part.filename, .bytes = std::make_shared<const std::string>(part.bytes)};
  }
  if (files.file.bytes == nullptr) return Error(Code::kInvalid, "form: the file 'file' is missing");
  if (files.base.bytes != nullptr) {
    // Which of the two it is, in words: both may have the same name.
    files.file.name = fmt::format("after ({})", files.file.name);
    files.base.name = fmt::format("before ({})", files.base.name);
  }
  return files;
}

// As `wherefore push` does it: without a time it is of now; time=now moves every profile to end
// now.
Result<HttpResponse> Rewrite(ProfileFile& file, const Parameters& p, const std::string& format) {
  const std::string time = p.Get("time");
  if (!time.empty() && time != "now") return Error(Code::kInvalid, "parameter 'time': only 'now'");
  WHEREFORE_ASSIGN_OR_RETURN(profile::Batch* const batch, file.Batch());
  const auto now = static_cast<std::uint64_t>(NowUnixNs());
  for (profile::Profile& profile : batch->profiles) {
    if (profile.time_ns == 0 || time == "now")
      profile.time_ns = now - std::min(profile.duration_ns, now);
  }
  return RenderBatch(*batch, format);
}

Result<HttpResponse> OneFile(const HttpRequest& request, const Parameters& p, const Files& files) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(auto prune, p.Prune());
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, p.Search());
  const std::string format = p.Get("format");
  WHEREFORE_ASSIGN_OR_RETURN(ProfileFile file,
                             files.file.Read(p.Get("service", "adhoc"), request.cancel));
  const bool otlp = format == "otlp" || format == "otlp-json";
  if (otlp && !lens.empty())
    return Error(Code::kInvalid, "parameter 'lens': otlp keeps stacks as they came in");
  if (otlp || (format == "pprof" && lens.empty() && file.facts().has_samples))
    return Rewrite(file, p, format);
  WHEREFORE_ASSIGN_OR_RETURN(FileTree built, file.Tree(p.Get("type"), request.cancel));
  if (!lens.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(built.tree, lens.Apply(built.tree, request.cancel));
  }
  const profile::FlameTree& tree = built.tree;
  if (IsTreeFile(format))
    return RenderTreeFile(tree, format, {.title = files.file.name, .time_ns = file.facts().time_ns},
                          request.cancel);
  WHEREFORE_RETURN_IF_ERROR(request.cancel.Check());
  const query::Found found = search.In(tree);
  if (!search.empty()) prune.wanted = found.functions;
  const profile::FlameTree pruned = profile::Prune(tree, prune);
  WHEREFORE_RETURN_IF_ERROR(request.cancel.Check());
  return RenderTree(request, format,
                    {.tree = &pruned,
                     .full_nodes = tree.size(),
                     .averaged = built.averaged,
                     .found = search.empty() ? nullptr : &found,
                     .observed_ns = built.observed_ns,
                     .types = file.types(),
                     .file = &file.facts()});
}

// Types both files have; the last is looked at when none is asked for.
Result<std::vector<std::string>> CommonTypes(const ProfileFile& base, const ProfileFile& file) {
  std::vector<std::string> common;
  for (const std::string& type : file.types()) {
    if (std::ranges::find(base.types(), type) != base.types().end()) common.push_back(type);
  }
  // A picture has one type, whatever it is called.
  if (!base.facts().has_samples || !file.facts().has_samples) return file.types();
  if (common.empty()) {
    return Error(Code::kInvalid,
                 fmt::format("the two files have no type in common: before has {}, after has {}",
                             fmt::join(base.types(), ", "), fmt::join(file.types(), ", ")));
  }
  return common;
}

Result<HttpResponse> TwoFiles(const HttpRequest& request, const Parameters& p, const Files& files) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(auto prune, p.Prune());
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, p.Search());
  WHEREFORE_ASSIGN_OR_RETURN(const ProfileFile base, files.base.Read("adhoc", request.cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const ProfileFile file, files.file.Read("adhoc", request.cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, CommonTypes(base, file));
  const std::string type = p.Get("type", types.back());
  const auto tree = [&](const ProfileFile& of, const NamedFile& named) -> Result<FileTree> {
    auto built = of.Tree(type, request.cancel);
    if (!built) return std::move(built).error().Within(named.name);
    if (lens.empty()) return built;
    WHEREFORE_ASSIGN_OR_RETURN(built->tree, lens.Apply(built->tree, request.cancel));
    return built;
  };
  WHEREFORE_ASSIGN_OR_RETURN(const auto before, tree(base, files.base));
  WHEREFORE_ASSIGN_OR_RETURN(const auto after, tree(file, files.file));
  WHEREFORE_RETURN_IF_ERROR(request.cancel.Charge(before.tree.bytes() + after.tree.bytes()));
  WHEREFORE_RETURN_IF_ERROR(request.cancel.Check());
  const query::DiffTree whole = query::Diff(before.tree, after.tree);
  WHEREFORE_RETURN_IF_ERROR(request.cancel.Check());
  if (const std::string format = p.Get("format"); IsDiffFile(format))
    return RenderDiffFile(whole, format, request.cancel);
  const query::Found found = search.In(whole.tree, whole.before);
  if (!search.empty()) prune.wanted = found.functions;
  const query::DiffTree diff = query::PruneDiff(whole, prune);
  WHEREFORE_RETURN_IF_ERROR(request.cancel.Check());
  return RenderTree(request, p.Get("format"),
                    {.tree = &diff.tree,
                     .full_nodes = whole.tree.size(),
                     .averaged = before.averaged || after.averaged,
                     .found = search.empty() ? nullptr : &found,
                     .observed_ns = after.observed_ns,
                     .observed_before_ns = before.observed_ns,
                     .before_total = diff.before,
                     .before_self = diff.before_self,
                     .before_count = diff.before_count,
                     .changes = &whole,
                     .types = types,
                     .file = &file.facts(),
                     .base = &base.facts()});
}

Result<HttpResponse> AdHoc(const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"type", "lens", "max_nodes", "min_share", "format",
                                               "service", "time", "search"}));
  WHEREFORE_ASSIGN_OR_RETURN(const Files files, ReadFiles(request));
  return files.base.bytes == nullptr ? OneFile(request, p, files) : TwoFiles(request, p, files);
}

}  // namespace

void Api::AddFileRoutes(net::Router& router) {
  AddQuery(router, "POST", "/api/v1/adhoc", "adhoc", net::WorkKind::kFile, AdHoc);
}

}  // namespace wherefore::api
