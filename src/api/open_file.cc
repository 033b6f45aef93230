#include "api/open_file.h"

#include <map>

#include <fmt/format.h>

#include "formats/flamebearer.h"
#include "formats/formats.h"
#include "profile/batch_tree.h"

namespace wherefore::api {
namespace {

// Sample types as people know them; a second one of the same name gets its whole id.
std::map<std::string, std::string> TypesOf(const profile::Batch& batch,
                                           std::vector<std::string>& order) {
  std::map<std::string, std::string> ids;
  for (const profile::ProfileType& type : profile::BatchTypes(batch)) {
    const std::string name = ids.contains(type.sample_type) ? type.Id() : type.sample_type;
    if (ids.try_emplace(name, type.Id()).second) order.push_back(name);
  }
  return ids;
}

}  // namespace

Result<OpenedFile> OpenFile(const std::shared_ptr<const std::string>& bytes,
                            const std::string& wanted) {
  OpenedFile out;
  if (bytes->find("\"flamebearer\"") != std::string::npos) {
    WHEREFORE_ASSIGN_OR_RETURN(out.tree, formats::DecodeFlamebearer(*bytes));
    out.type = out.tree.type.empty() ? "samples" : out.tree.type;
    out.types = {out.type};
    return out;
  }
  Result<formats::DecodedProfiles> decoded = formats::DecodeProfileFile(bytes, "adhoc");
  if (!decoded && bytes->starts_with('{')) decoded = formats::DecodeSpeedscope(bytes, {});
  if (!decoded) return std::move(decoded).error();
  const auto ids = TypesOf(decoded->data, out.types);
  if (out.types.empty()) return Error(Code::kInvalid, "the file has no profile in it");
  // pprof's convention: the last type is the one to look at.
  out.type = wanted.empty() ? out.types.back() : wanted;
  const auto id = ids.find(out.type);
  if (id == ids.end()) {
    return Error(Code::kInvalid, fmt::format("the file has no type '{}'; it has: {}", wanted,
                                             fmt::join(out.types, ", ")));
  }
  out.tree = profile::BuildBatchTree(decoded->data, id->second).tree;
  return out;
}

}  // namespace wherefore::api
