// Symbolizer: addresses of stored profiles -> functions, files, lines and inlined calls.
//
// For modules whose file is on this machine with the same build id (module_files.h). Answers are
// kept by build id, within bounds; files are looked for and read by a child process (worker.h): the
// server itself opens nothing that a sender names. A file that
// breaks the child or keeps it busy for too long costs a query that time once: it is left alone for
// ten minutes, and its names stay as they were sent. Debug files may come later than profiles: a
// module without one is looked for again when it is asked about, after a minute first and then less
// and less often. Any thread; questions to the child wait for each other, never beyond their
// deadline.
#pragma once

#include <cstdint>
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
  // How long the child may be silent; it is asked for a thousand addresses at a time.
  std::int64_t answer_limit_ns = 3'000'000'000;
  // How soon a module without debug information is looked for again, the first time.
  std::int64_t search_again_ns = 60'000'000'000;
};

struct ModuleName {
  std::string_view build_id;  // hex
  std::string_view path;      // as its sender knew it
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
    // By address as asked; null where nothing is known.
    std::vector<std::shared_ptr<const ResolvedFrame>> frames;
    // There was no time to look: asking again later may give more.
    bool postponed = false;
    // Nothing better can come. Else HasNews() tells, by this number, when something has.
    bool settled = false;
    std::uint64_t version = 0;
  };
  // Begins nothing new after `deadline_ns` (MonotonicNs); what is resolved by then is kept.
  Answer Resolve(const ModuleName& module, std::span<const ModuleAddress> addresses,
                 std::int64_t deadline_ns);

  // Whether Resolve() may know more than when it gave `version`. Looks for files again where it is
  // time to and the deadline allows.
  bool HasNews(const ModuleName& module, std::uint64_t version, std::int64_t deadline_ns);

  [[nodiscard]] Status status() const;

 private:
  struct Module {
    std::optional<ModuleFiles> files;
    bool failed = false;               // they broke the child: left alone until search_again_ns
    std::int64_t search_again_ns = 0;  // while not settled
    std::int64_t patience_ns = 0;      // from one search to the next
    std::uint64_t version = 0;         // another one whenever names may have become better

    [[nodiscard]] bool settled() const { return files && !files->debug.empty() && !failed; }
    std::unordered_map<std::uint64_t, std::shared_ptr<const ResolvedFrame>> frames;
    std::size_t bytes = 0;
    std::uint64_t last_use = 0;
  };

  struct Known {
    bool search = true;  // not known, or time to look again
    std::optional<ModuleFiles> files;
    std::uint64_t version = 0;
  };
  // The module's files, when there are any to ask. Looks for them, unless the deadline comes first.
  Known Locate(const ModuleName& name, std::int64_t deadline_ns);
  Known Recall(const std::string& build_id);
  // Asks the child, which the caller has taken. Nobody else changes a module's version meanwhile.
  void Search(const ModuleName& name);
  // The part of Resolve() that knows where the files are.
  void Fill(const std::string& build_id, const Known& known,
            std::span<const ModuleAddress> addresses, std::int64_t deadline_ns, Answer& answer);
  // Fills what is known; gives the addresses that are not.
  std::vector<std::uint64_t> TakeKnown(const std::string& build_id,
                                       std::span<const std::uint64_t> addresses, Answer& answer);
  void Keep(const std::string& build_id, std::span<const std::uint64_t> addresses,
            std::vector<ResolvedFrame> frames);
  // False when the child was not free by the deadline.
  bool TakeWorker(std::int64_t deadline_ns);
  void GiveWorkerBack();
  // Asks the child; what it knows is kept. False when the deadline came first.
  bool AskWorker(const std::string& build_id, const ModuleFiles& files,
                 std::span<const std::uint64_t> addresses, std::int64_t deadline_ns);
  // The files that were found are gone, or others by now.
  void Lose(const std::string& build_id);
  // Takes what a search gave. Names of worse files are forgotten.
  void Renew(Module& module, std::optional<ModuleFiles> files) REQUIRES(mutex_);
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
  WorkerProcess worker_;  // belongs to whoever set worker_busy_: it answers one at a time
};

}  // namespace wherefore::symbols
