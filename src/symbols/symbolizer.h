// Symbolizer: addresses of stored profiles -> functions, files, lines and inlined calls.
//
// Works for modules whose file is on this machine with the same build id (module_files.h). Results
// are cached by build id, within bounds. A child process finds and reads the files (worker.h): the
// server itself opens nothing that a sender names. A file that crashes the child or takes too long
// costs one query that time; it is then skipped for ten minutes, and its frames keep the names that
// were sent. Debug files may be installed later than profiles arrive, so the search for a missing
// one is repeated on demand: after a minute at first, then less and less often. Any thread;
// requests to the child wait for each other, but never beyond their deadline.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "symbols/module_files.h"
#include "symbols/resolved_frame.h"
#include "symbols/worker.h"

namespace wherefore::symbols {

struct SymbolizerOptions {
  std::vector<std::string> search_path;  // folders of --symbol-path
  std::vector<std::string> worker;       // command line of the child, see WorkerProcess
  std::size_t cache_bytes = 64u << 20;
  // How long the child may take for one request; it gets a thousand addresses at a time.
  std::int64_t answer_limit_ns = 3'000'000'000;
  // Delay before the first repeated search for a module without debug information.
  std::int64_t search_again_ns = 60'000'000'000;
  // Changes names before anybody sees them; may be null. Any thread.
  std::function<void(ResolvedFrame&)> edit = nullptr;
};

struct ModuleName {
  std::string_view build_id;  // hex
  std::string_view path;      // as its sender knows it
};

struct ModuleAddress {
  std::uint64_t value = 0;
  bool is_file_offset = false;  // else a virtual address of the file

  bool operator==(const ModuleAddress&) const = default;
};

class Symbolizer {
 public:
  explicit Symbolizer(SymbolizerOptions options);

  struct Answer {
    // In the order of the addresses; null if nothing is known.
    std::vector<std::shared_ptr<const ResolvedFrame>> frames;
    // Time ran out; asking again later may give more.
    bool postponed = false;
    // Nothing better can come. If false, HasNews() tells with `version` when something did.
    bool settled = false;
    std::uint64_t version = 0;
  };
  // Starts nothing new after `deadline_ns` (MonotonicNs); what was resolved until then is kept.
  Answer Resolve(const ModuleName& module, std::span<const ModuleAddress> addresses,
                 std::int64_t deadline_ns);

  // Whether Resolve() may know more than when it returned `version`. Repeats the search for files
  // if it is due and the deadline allows.
  bool HasNews(const ModuleName& module, std::uint64_t version, std::int64_t deadline_ns);

  [[nodiscard]] Status status() const;

 private:
  struct Module {
    std::optional<ModuleFiles> files;
    bool failed = false;               // they broke the child: skip until search_again_ns
    std::int64_t search_again_ns = 0;  // while not settled
    std::int64_t retry_ns = 0;         // delay until the next search
    std::uint64_t version = 0;         // changes whenever names may have improved

    [[nodiscard]] bool settled() const { return files && !files->debug.empty() && !failed; }
    std::unordered_map<std::uint64_t, std::shared_ptr<const ResolvedFrame>> frames;
    std::size_t bytes = 0;
    std::uint64_t last_use = 0;
  };

  struct Known {
    bool search = true;  // not known yet, or due for another search
    std::optional<ModuleFiles> files;
    std::uint64_t version = 0;
  };
  // The module's files, if there are any. Searches for them, unless the deadline comes first.
  Known Locate(const ModuleName& name, std::int64_t deadline_ns);
  Known Recall(const std::string& build_id);
  // Asks the child, which the caller has taken. Meanwhile nobody else changes the module's version.
  void Search(const ModuleName& name);
  // The part of Resolve() after the files are known.
  void Fill(const std::string& build_id, const Known& known,
            std::span<const ModuleAddress> addresses, std::int64_t deadline_ns, Answer& answer);
  // Fills in cached results and returns the remaining addresses.
  std::vector<std::uint64_t> TakeKnown(const std::string& build_id,
                                       std::span<const std::uint64_t> addresses, Answer& answer);
  void Keep(const std::string& build_id, std::span<const std::uint64_t> addresses,
            std::vector<ResolvedFrame> frames);
  // False if the child was not free before the deadline.
  bool TakeWorker(std::int64_t deadline_ns);
  void GiveWorkerBack();
  // Asks the child and caches its answer. False if the deadline came first.
  bool AskWorker(const std::string& build_id, const ModuleFiles& files,
                 std::span<const std::uint64_t> addresses, std::int64_t deadline_ns);
  // The files that were found are gone or have been replaced.
  void ForgetFiles(const std::string& build_id);
  // Stores the result of a search. Names from worse files are dropped.
  void StoreFiles(Module& module, std::optional<ModuleFiles> files) REQUIRES(mutex_);
  void Schedule(Module& module, std::int64_t at_least_ns) REQUIRES(mutex_);
  void Fail(const std::string& build_id, const std::string& file, const Error& error);
  void NoteConfinement() REQUIRES(mutex_);
  void Evict() REQUIRES(mutex_);

  const SymbolizerOptions options_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Module> modules_ GUARDED_BY(mutex_);  // by build id
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::uint64_t versions_ GUARDED_BY(mutex_) = 0;
  std::uint64_t searches_ GUARDED_BY(mutex_) = 0;
  std::uint64_t resolved_ GUARDED_BY(mutex_) = 0;
  std::uint64_t failures_ GUARDED_BY(mutex_) = 0;
  std::string last_failure_ GUARDED_BY(mutex_);
  std::string why_not_confined_ GUARDED_BY(mutex_);  // the child

  CondVar worker_free_;
  bool worker_busy_ GUARDED_BY(mutex_) = false;
  WorkerProcess worker_;  // used by whoever set worker_busy_: it answers one request at a time
};

}  // namespace wherefore::symbols
