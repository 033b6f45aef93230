// Where a command gets its data from: a server, or files read here without one.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "profile/batch.h"
#include "profile/flame_tree.h"

namespace wherefore::cli {

// The selection options every question has.
struct SelectionOptions {
  std::vector<std::string> what;  // a selector, or files
  std::string service;
  std::string type;
  std::string since;
  std::string from;
  std::string to;
  std::string lens;
  bool observed = false;  // SourceTree::seconds is wanted

  void AddTo(CLI::App& command, const std::string& positional_help);
  // True when `what` names files that exist.
  [[nodiscard]] bool IsFiles() const;
  // Usage errors that would otherwise ask another question than the one meant.
  [[nodiscard]] Result<> Validate(std::size_t most_selectors) const;
  // Query parameters for the API.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> Parameters() const;
  [[nodiscard]] std::string SelectorText() const;
};

// GET/POST against the server; a JSON error becomes our Error.
[[nodiscard]] Result<std::string> Ask(
    const Context& context, std::string_view method, const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& parameters, std::string_view body = {},
    std::string_view content_type = {});

struct SourceTree {
  profile::FlameTree tree;  // values without any observations: their number is not known
  std::string hint;
  bool averaged = false;
  double seconds = 0;  // in which anything of it was seen; 0: not known, or not asked for
};
// The whole tree (not pruned) that a question of the API answers with.
[[nodiscard]] Result<SourceTree> AskTree(
    const Context& context, const std::string& path,
    std::vector<std::pair<std::string, std::string>> parameters);
// The whole tree (not pruned) of a selection or of files.
[[nodiscard]] Result<SourceTree> LoadTree(const Context& context, const SelectionOptions& options);

[[nodiscard]] bool IsUrl(std::string_view name);
// A file or what an http(s) address serves, unpacked if it is gzip.
[[nodiscard]] Result<std::string> ReadProfileFile(const std::string& path);

// The type people mean when they do not say: cpu, wall, else the file's last one (as pprof does).
[[nodiscard]] std::string DefaultFileType(const profile::Batch& batch);

// kInvalid when a type that is no id and no short name of ours ("delay") stands for several: their
// sum would count a wait for a lock twice. `ids` collects over the files of one question.
[[nodiscard]] Result<> RequireOneType(const profile::Batch& batch, std::string_view type,
                                      std::set<std::string>& ids);

// Of any known format, decoded; the service defaults to the file's name (or the URL's host).
[[nodiscard]] Result<profile::Batch> DecodeBatch(const std::shared_ptr<const std::string>& bytes,
                                                 const std::string& file,
                                                 const std::string& service);
[[nodiscard]] Result<profile::Batch> LoadBatch(const std::string& file, const std::string& service);

}  // namespace wherefore::cli
