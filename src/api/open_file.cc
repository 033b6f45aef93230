#include "api/open_file.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "formats/registry.h"

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

FileFacts FactsOf(const profile::Batch& batch, const std::string& given_service) {
  const profile::BatchTime time = profile::TimeOf(batch);
  FileFacts facts{.time_ns = time.start_ns, .duration_ns = time.duration_ns};
  std::set<std::string> services;
  for (const profile::Profile& p : batch.profiles)
    services.emplace(profile::ServiceName(batch, batch.resources[p.resource]));
  services.erase(given_service);
  services.erase("unknown_service");
  facts.services.assign(services.begin(), services.end());
  return facts;
}

}  // namespace

Result<ProfileFile> ProfileFile::Read(const std::shared_ptr<const std::string>& bytes,
                                      const CancelToken& cancel, const std::string& service) {
  ProfileFile file;
  if (bytes->empty()) return Error(Code::kInvalid, "the file is empty");
  WHEREFORE_ASSIGN_OR_RETURN(formats::FileContent content,
                             formats::DecodeFile(bytes, {.service = service}));
  if (std::holds_alternative<formats::DecodedSpans>(content)) return formats::OnlyTracesError();
  if (auto* const picture = std::get_if<profile::FlameTree>(&content)) {
    file.picture_ = std::move(*picture);
    file.types_ = {file.picture_->type.empty() ? "samples" : file.picture_->type};
    file.facts_.has_samples = false;
    return file;
  }
  profile::Batch& batch = std::get<formats::DecodedProfiles>(content).data;
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(batch.ApproximateBytes()));
  file.ids_ = TypesOf(batch, file.types_);
  if (file.types_.empty()) return Error(Code::kInvalid, "the file has no profile in it");
  file.facts_ = FactsOf(batch, service);
  file.batch_ = std::move(batch);
  return file;
}

Result<FileTree> ProfileFile::Tree(const std::string& type, const CancelToken& cancel,
                                   profile::SeveralSnapshots several) const {
  if (picture_) return FileTree{.tree = *picture_};
  const auto id = ids_.find(type.empty() ? types_.back() : type);
  if (id == ids_.end()) {
    return Error(Code::kInvalid, fmt::format("the file has no type '{}'; it has: {}", type,
                                             fmt::join(types_, ", ")));
  }
  WHEREFORE_ASSIGN_OR_RETURN(profile::BatchTreeResult built,
                             profile::BuildBatchTree(*batch_, id->second, several, cancel));
  built.tree.type = id->first;
  return FileTree{
      .tree = std::move(built.tree), .averaged = built.snapshot, .observed_ns = built.observed_ns};
}

Result<profile::Batch*> ProfileFile::Batch() {
  if (batch_) return &*batch_;
  return formats::NoSamplesError();
}

Result<OpenedFile> OpenFile(const std::shared_ptr<const std::string>& bytes,
                            const std::string& wanted, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const ProfileFile file, ProfileFile::Read(bytes, cancel));
  OpenedFile out{.types = file.types(), .type = wanted.empty() ? file.types().back() : wanted};
  WHEREFORE_ASSIGN_OR_RETURN(FileTree built,
                             file.Tree(wanted, cancel, profile::SeveralSnapshots::kAddUp));
  out.tree = std::move(built.tree);
  if (!file.facts().has_samples) out.type = file.types().back();
  return out;
}

}  // namespace wherefore::api
