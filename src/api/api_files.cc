// Api: files people hand over to be looked at, one or two of them, and dropped again; or written in
// another format, which is how the page keeps one: as OTLP, sent to the server like anybody's.
#include <algorithm>

#include <fmt/format.h>

#include "api/api.h"
#include "api/export_file.h"
#include "api/open_file.h"
#include "api/render.h"
#include "api/request.h"
#include "base/clock.h"
#include "formats/wire/multipart.h"
#include "query/view.h"

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
  WHEREFORE_ASSIGN_OR_RETURN(const auto options, p.View());
  const query::Lens& lens = options.lens;
  const std::string format = p.Get("format");
  WHEREFORE_ASSIGN_OR_RETURN(ProfileFile file,
                             files.file.Read(p.Get("service", "adhoc"), request.cancel));
  const bool otlp = format == "otlp" || format == "otlp-json";
  if (otlp && !lens.empty())
    return Error(Code::kInvalid, "parameter 'lens': otlp keeps stacks as they came in");
  if (otlp || (format == "pprof" && lens.empty() && file.facts().has_samples))
    return Rewrite(file, p, format);
  WHEREFORE_ASSIGN_OR_RETURN(FileTree built, file.Tree(p.Get("type"), request.cancel));
  if (IsTreeFile(format)) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto tree,
                               query::ApplyLens(std::move(built.tree), lens, request.cancel));
    return RenderTreeFile(tree, format, {.title = files.file.name, .time_ns = file.facts().time_ns},
                          request.cancel);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto view,
                             query::ShowTree(std::move(built.tree), options, request.cancel));
  return RenderTree(request, format,
                    {.tree = &view.tree,
                     .full_nodes = view.full_nodes,
                     .averaged = built.averaged,
                     .found = view.found ? &*view.found : nullptr,
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
  WHEREFORE_ASSIGN_OR_RETURN(const auto options, p.View());
  WHEREFORE_ASSIGN_OR_RETURN(const ProfileFile base, files.base.Read("adhoc", request.cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const ProfileFile file, files.file.Read("adhoc", request.cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, CommonTypes(base, file));
  const std::string type = p.Get("type", types.back());
  const auto tree = [&](const ProfileFile& of, const NamedFile& named) -> Result<FileTree> {
    auto built = of.Tree(type, request.cancel);
    if (!built) return std::move(built).error().Within(named.name);
    return built;
  };
  WHEREFORE_ASSIGN_OR_RETURN(const auto before, tree(base, files.base));
  WHEREFORE_ASSIGN_OR_RETURN(const auto after, tree(file, files.file));
  WHEREFORE_ASSIGN_OR_RETURN(const auto view,
                             query::ShowDiff(before.tree, after.tree, options, request.cancel));
  if (const std::string format = p.Get("format"); IsDiffFile(format))
    return RenderDiffFile(view.whole, format, request.cancel);
  TreeAnswer out = AnswerOf(view);
  out.averaged = before.averaged || after.averaged;
  out.observed_ns = after.observed_ns;
  out.observed_before_ns = before.observed_ns;
  out.types = types;
  out.file = &file.facts();
  out.base = &base.facts();
  return RenderTree(request, p.Get("format"), out);
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
  AddRoute(router, "POST", "/api/v1/adhoc", "adhoc", net::WorkKind::kFile, AdHoc);
}

}  // namespace wherefore::api
