// FanOut: one request into several ends, each with its own copy.
//
// Threads: Write from any thread; `done` is called once, on whatever thread the last end finishes.
// Always:  the answer waits for every end. Required ends decide it: if one refuses, so does the
//          answer, and the sender comes again (the others know the repeat). What an optional end
//          refuses is lost to it alone, and counted. If all refuse, nothing was kept and the sender
//          is told. With a single end nothing is copied.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/result.h"
#include "profile/sink.h"

namespace wherefore::gateway {

// What optional ends refused. Outlives the graph it belongs to.
struct Losses {
  Counter* items = nullptr;
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::int64_t> last_ns{0};  // monotonic; 0: never
};

class FanOut final : public profile::Sink {
 public:
  struct End {
    profile::Sink* sink = nullptr;
    bool required = true;
    std::shared_ptr<Losses> losses;  // of an optional end
  };
  explicit FanOut(std::vector<End> ends) : ends_(std::move(ends)) {}

  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;

 private:
  const std::vector<End> ends_;
};

// Samples or spans.
[[nodiscard]] std::size_t ItemsOf(const profile::WriteRequest& request);

}  // namespace wherefore::gateway
