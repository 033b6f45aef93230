// Where a command gets its data: from a server, or from files without one. One thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "cli/command.h"
#include "formats/registry.h"
#include "profile/batch.h"
#include "profile/flame_tree.h"

namespace wherefore::cli {

// The selection options of every query.
struct SelectionOptions {
  std::vector<std::string> what;  // a selector, or files
  std::string service;
  std::string type;
  std::string since;
  std::string from;
  std::string to;
  std::string lens;
  std::string own;        // rules of own code; part of the lens once the command line is read
  bool observed = false;  // fill in SourceTree::seconds

  void AddTo(CLI::App& command, const std::string& positional_help);
  // True if `what` names existing files.
  [[nodiscard]] bool IsFiles() const;
  // Catches usage errors that would select something else than the user meant.
  [[nodiscard]] Result<> Validate(std::size_t most_selectors) const;
  // Query parameters for the API.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> Parameters() const;
  [[nodiscard]] std::string SelectorText() const;
};

struct Answer {
  std::string body;
  std::string incomplete;  // what stored data it lacks, as the server says; or empty
};
// GET or POST; a JSON error answer becomes an Error.
[[nodiscard]] Result<Answer> AskFully(
    const Context& context, std::string_view method, const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& parameters, std::string_view body,
    std::string_view content_type, const CancelToken& cancel);
// Its body; what it lacks is said on stderr.
[[nodiscard]] Result<std::string> Ask(
    const Context& context, std::string_view method, const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& parameters, std::string_view body = {},
    std::string_view content_type = {});

struct SourceTree {
  profile::FlameTree tree;  // without observations if their number is not known
  std::string hint;
  bool averaged = false;
  double seconds = 0;  // observed time; 0: not known, or not asked for
};
// The whole tree (not pruned) that an API route answers with.
[[nodiscard]] Result<SourceTree> AskTree(
    const Context& context, const std::string& path,
    std::vector<std::pair<std::string, std::string>> parameters);
// The whole tree (not pruned) of a selection or of files.
[[nodiscard]] Result<SourceTree> LoadTree(const Context& context, const SelectionOptions& options);
// The same; a lens that leaves nothing is said in the hint.
[[nodiscard]] Result<SourceTree> LoadWithLens(const Context& context,
                                              const SelectionOptions& options);

[[nodiscard]] bool IsUrl(std::string_view name);
inline constexpr std::string_view kStandardInput = "-";
// Reads a file, an http(s) URL or standard input; unpacks gzip.
[[nodiscard]] Result<std::string> ReadProfileFile(const std::string& path);

// The type if none is given: cpu, wall, else the file's last one (like pprof).
[[nodiscard]] std::string DefaultFileType(const profile::Batch& batch);

// kInvalid if a type that is neither an id nor a short name ("delay") stands for several types:
// their sum would count a wait for a lock twice. `ids` accumulates over the files of one command.
[[nodiscard]] Result<> RequireOneType(const profile::Batch& batch, std::string_view type,
                                      std::set<std::string>& ids);

// Decodes any format of formats/registry.h. The service defaults to the file's name (or the URL's
// host). Prints on stderr what had to be left out.
[[nodiscard]] Result<formats::FileContent> DecodeContent(
    const std::shared_ptr<const std::string>& bytes, const std::string& file,
    const std::string& service);
// Its profiles; an error for traces and saved flame graphs.
[[nodiscard]] Result<profile::Batch> BatchOf(formats::FileContent content, const std::string& file);
[[nodiscard]] Result<profile::Batch> LoadBatch(const std::string& file, const std::string& service);

}  // namespace wherefore::cli
