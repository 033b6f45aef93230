// Scraper: fetches pprof profiles from programs that serve them, at regular intervals.
//
// One thread watches the target files. Every target has its own thread, because a CPU profile takes
// nearly a whole interval to answer. A target starts at a random moment of the first fifteenth of
// its interval (or the first second, if that is longer), so that not all are scraped at once.
// Cumulative profiles become differences (profile/counters.h); the first one only sets the base.
//
// Failure: errors of a target are counted, shown in status() and retried at the next interval.
// Stop() ends everything immediately; partial answers are discarded.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/cancel.h"
#include "base/mutex.h"
#include "base/status.h"
#include "gateway/intake.h"
#include "gateway/scrape_config.h"

namespace wherefore::gateway {

class Scraper {
 public:
  static constexpr std::size_t kMaxTargets = 500;  // each has a thread

  Scraper(Intake intake, ScrapeConfig config);
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;
  ~Scraper();

  void Start();
  void Stop();
  [[nodiscard]] Status status() const;

 private:
  class Target;

  void Watch();
  void Update();  // reads the files, starts and stops targets

  Intake intake_;
  const ScrapeConfig config_;
  std::thread watcher_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::map<std::string, std::unique_ptr<Target>> targets_ GUARDED_BY(mutex_);  // by URL and labels
  std::map<std::string, std::string> file_errors_ GUARDED_BY(mutex_);
  std::size_t left_out_ GUARDED_BY(mutex_) = 0;
};

// Fetches and decodes one profile. `url` is complete.
[[nodiscard]] Result<formats::DecodedProfiles> FetchProfile(const std::string& url,
                                                            const formats::PprofContext& context,
                                                            std::int64_t timeout_ns,
                                                            const std::string& bearer_token,
                                                            const CancelToken& cancel);

}  // namespace wherefore::gateway
