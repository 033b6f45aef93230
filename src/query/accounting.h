// Where the time of a span went: parts that add up to its duration to the nanosecond.
//
// Some parts are measured (children, the CPU clock of the span's thread, waiting for locks and
// other threads), the rest is seen by samples and looks and has an error. What nobody saw is a part
// of its own. The arithmetic only: src/query/span_observations.h finds the figures.
//
// Pure; any thread. The same figures give the same parts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wherefore::query {

enum class Part : std::uint8_t {
  kOnCpu,
  kLock,    // mutexes, reader-writer locks
  kThread,  // conditions, semaphores
  kIo,
  kSleep,
  kOther,       // waiting that does not say for what
  kChildren,    // a child span ran
  kUnobserved,  // the rest
};
inline constexpr std::size_t kParts = 8;
[[nodiscard]] std::string_view PartName(Part part);

// What a part is known from.
enum class Source : std::uint8_t {
  kNone,      // nothing that could show it
  kSpans,     // the intervals of children
  kCpuClock,  // the attribute wherefore.span.cpu_ns
  kCpu,       // samples of these types
  kBlock,
  kMutex,
  kOffCpu,
  kWall,
};
[[nodiscard]] std::string_view SourceName(Source source);

// What samples add up to.
struct Seen {
  std::int64_t value = 0;  // nanoseconds
  std::int64_t observations = 0;

  void Add(std::int64_t more, std::int64_t times);
};

// What is known of one span. Figures come from senders: any value is taken.
struct SpanFigures {
  std::int64_t duration_ns = 0;
  std::int64_t children_ns = 0;  // in which direct children ran
  std::int64_t child_spans = 0;

  // On a CPU without its children, if its thread's clock was read.
  std::optional<std::int64_t> cpu_clock_ns;
  Seen cpu;  // on all threads
  // CPU time between two samples; 0: no such samples are taken of it.
  std::int64_t cpu_distance_ns = 0;
  // Samples are taken at a random moment of every distance, so that only both ends are uncertain.
  bool random_moments = false;

  Seen lock;
  Seen thread;
  Source waits_from = Source::kNone;  // of both

  // By looks.
  Seen io;
  Seen sleep;
  Seen other;
  Seen lock_looks;  // what `lock` and `thread` measure, and waiting for locks they do not know
  Source looks_from = Source::kNone;
  double look_ns = 0;  // what a look stands for on average, for parts without any
};

struct AccountPart {
  std::int64_t value = 0;  // nanoseconds
  std::int64_t error = 0;  // 95 %
  std::int64_t observations = 0;
  Source source = Source::kNone;
};

struct Account {
  std::int64_t duration_ns = 0;
  std::int64_t spans = 0;
  std::array<AccountPart, kParts> parts;  // by Part; values add up to the duration
  // More than 1: so many threads ran or waited in it at once, and its own parts were divided by it.
  double parallel = 1;
  // Waiting while children ran; not part of the sum.
  std::int64_t waiting_for_children_ns = 0;
  // Waiting for locks that only looks know is in kOther.
  bool lock_looks_counted = false;

  [[nodiscard]] const AccountPart& operator[](Part part) const {
    return parts[static_cast<std::size_t>(part)];
  }
};

// The account of one span, or of many together. What is measured is laid into each span; what is
// seen by looks is added up first, because a look may stand for more than one span took.
class Accounting {
 public:
  void Add(const SpanFigures& span);
  [[nodiscard]] Account Total() const;

 private:
  void AddMeasured(const SpanFigures& span, std::int64_t own);
  void AddCpuSamples(const SpanFigures& span);
  [[nodiscard]] double CpuError() const;
  [[nodiscard]] Seen OfOtherThreads() const;
  void FillLooks(Account& account, std::int64_t left) const;

  std::int64_t spans_ = 0;
  std::int64_t duration_ = 0;
  std::int64_t children_ = 0;
  std::int64_t child_spans_ = 0;
  std::int64_t clock_ = 0;  // measured, as it was laid into its spans
  std::int64_t lock_ = 0;
  std::int64_t thread_ = 0;
  std::int64_t lock_observations_ = 0;
  std::int64_t thread_observations_ = 0;
  std::int64_t waiting_for_children_ = 0;
  double measured_ = 0;  // before it was divided by the number of threads
  double laid_ = 0;
  Source waits_from_ = Source::kNone;

  bool any_clock_ = false;
  bool any_sampled_ = false;  // of spans without a clock
  Seen cpu_random_;
  Seen cpu_other_;
  std::int64_t cpu_distance_ = 0;
  double ends_ = 0;  // of stretches between children, half of them
  // Of spans with a clock: what it said, and samples of that span on any thread.
  double clocked_ = 0;
  Seen beside_clock_;
  double ends_beside_clock_ = 0;
  Seen io_;
  Seen sleep_;
  Seen other_;
  Seen lock_looks_;
  Source looks_from_ = Source::kNone;
  double look_ns_ = 0;
};

[[nodiscard]] Account AccountOf(const SpanFigures& span);

}  // namespace wherefore::query
