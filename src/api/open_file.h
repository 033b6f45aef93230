// A profile file somebody hands over to be looked at: read in memory, never stored here. Pure; any
// thread. Ends within the time and memory that its query may use.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/batch.h"
#include "profile/batch_tree.h"
#include "profile/flame_tree.h"

namespace wherefore::api {

// What a file says of itself.
struct FileFacts {
  std::int64_t time_ns = 0;           // when its first profile began; 0: it does not say
  std::int64_t duration_ns = 0;       // from then to the end of its last; 0: it does not say
  std::vector<std::string> services;  // that it names itself (OTLP); mostly none
  bool has_samples = true;            // false: only a picture of them, which cannot be stored
};

// What it has of one type.
struct FileTree {
  profile::FlameTree tree;
  bool averaged = false;         // a snapshot, or the average of several
  std::int64_t observed_ns = 0;  // in which it was taken, gaps excluded; 0: it does not say
};

// A file, decoded; every format of formats/registry.h.
class ProfileFile {
 public:
  // `service`: under which name its profiles go where it does not say.
  static Result<ProfileFile> Read(const std::shared_ptr<const std::string>& bytes,
                                  const CancelToken& cancel, const std::string& service = "adhoc");

  [[nodiscard]] const FileFacts& facts() const { return facts_; }
  [[nodiscard]] const std::vector<std::string>& types() const { return types_; }
  // One of its types; empty: the last, which is the one to look at by pprof's convention.
  [[nodiscard]] Result<FileTree> Tree(
      const std::string& type, const CancelToken& cancel,
      profile::SeveralSnapshots several = profile::SeveralSnapshots::kAverage) const;
  // Its profiles, to be sent on; kUnsupported where there is only a picture.
  [[nodiscard]] Result<profile::Batch*> Batch();

 private:
  FileFacts facts_;
  std::vector<std::string> types_;
  std::map<std::string, std::string> ids_;  // type as people know it -> five-part id
  std::optional<profile::Batch> batch_;
  std::optional<profile::FlameTree> picture_;  // of flamebearer
};

// The types of a file and one of its trees.
struct OpenedFile {
  std::vector<std::string> types;
  std::string type;
  profile::FlameTree tree;
};
// The same in one step.
[[nodiscard]] Result<OpenedFile> OpenFile(const std::shared_ptr<const std::string>& bytes,
                                          const std::string& wanted, const CancelToken& cancel);

}  // namespace wherefore::api
