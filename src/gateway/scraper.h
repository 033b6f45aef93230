// Scraper: fetches pprof profiles from programs that serve them, on a rhythm.
//
// One thread watches the files of targets; every target has a thread of its own, because asking for
// a CPU profile waits nearly a whole interval for the answer. A target begins at a random moment of
// its first interval, so that many do not come at once. Profiles that count since their process
// began become differences (profile/counters.h); the first one only sets the base.
//
// Failure: what a target does wrong is counted, said in status() and tried again at the next
//          interval. Stop() ends everything at once; nothing of a broken-off answer is kept.
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
  static constexpr std::size_t kMostTargets = 500;  // threads

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
  void Update();  // looks at the files, starts and stops targets

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

// One profile, fetched and decoded, as `push` and targets do it. `url` is complete.
[[nodiscard]] Result<formats::DecodedProfiles> FetchProfile(const std::string& url,
                                                            const formats::PprofContext& context,
                                                            std::int64_t timeout_ns,
                                                            const std::string& bearer_token,
                                                            const CancelToken& cancel);

}  // namespace wherefore::gateway
