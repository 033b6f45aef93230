// Api: files people hand over to be looked at, one or two of them, and dropped again.
#include "api/api.h"
#include "api/open_file.h"
#include "api/request.h"
#include "formats/multipart.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using Bytes = std::shared_ptr<const std::string>;

struct Files {
  Bytes file;
  Bytes base;  // null: only one
};

// A form with the file `file` and, for a difference, `base` (before); or the file itself.
Result<Files> ReadFiles(const HttpRequest& request) {
  if (request.ContentType() != "multipart/form-data") return Files{.file = request.body};
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto parts, formats::ParseMultipart(*request.body, request.Header("Content-Type")));
  Files files;
  for (const formats::Part& part : parts) {
    Bytes* place = part.name == "file" ? &files.file : part.name == "base" ? &files.base : nullptr;
    if (place == nullptr)
      return Error(Code::kInvalid,
                   "form: expected the files 'file' and 'base', not '" + part.name + "'");
    *place = std::make_shared<const std::string>(part.bytes);
  }
  if (files.file == nullptr) return Error(Code::kInvalid, "form: the file 'file' is missing");
  return files;
}

Result<HttpResponse> AdHoc(const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {"type", "lens", "max_nodes",
                                                                      "min_share", "format"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(const auto prune, p.Prune());
  WHEREFORE_ASSIGN_OR_RETURN(const Files files, ReadFiles(request));
  if (files.file->empty()) return Error(Code::kInvalid, "the file is empty");
  WHEREFORE_ASSIGN_OR_RETURN(OpenedFile opened, OpenFile(files.file, p.Get("type")));
  opened.tree = lens.Apply(opened.tree);
  if (files.base == nullptr) {
    const profile::FlameTree pruned = profile::Prune(opened.tree, prune);
    return RenderTree(request, p.Get("format"),
                      {.tree = &pruned, .full_nodes = opened.tree.size(), .types = opened.types});
  }
  WHEREFORE_ASSIGN_OR_RETURN(const OpenedFile base, OpenFile(files.base, opened.type));
  const query::DiffTree whole = query::Diff(lens.Apply(base.tree), opened.tree);
  const query::DiffTree diff = query::PruneDiff(whole, prune);
  return RenderTree(request, p.Get("format"),
                    {.tree = &diff.tree,
                     .full_nodes = whole.tree.size(),
                     .before_total = diff.before,
                     .before_self = diff.before_self,
                     .before_count = diff.before_count,
                     .changes = &whole,
                     .types = opened.types});
}

}  // namespace

void Api::AddFileRoutes(net::Router& router) {
  AddQuery(router, "POST", "/api/v1/adhoc", "adhoc", AdHoc);
}

}  // namespace wherefore::api
