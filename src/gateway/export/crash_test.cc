// Kills a process that exports, at random moments, while the next hop is busy, silent, or stores
// and never answers; then everything acknowledged is at the next hop exactly once.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/test_directory.h"
#include "gateway/export/exporter.h"
#include "gateway/export/test_requests.h"
#include "gateway/otlp_receiver.h"
#include "net/http.h"

namespace wherefore::gateway {
namespace {

ExporterOptions OptionsFor(const std::string& directory, const std::string& url) {
  ExporterOptions options;
  options.id = "otlphttp/crash";
  options.endpoint = url;
  options.queue.directory = directory;
  options.queue.consumers = 3;
  options.queue.batch = BatchOptions{.timeout_ns = 5'000'000, .min_size = 20};
  options.timeout_ns = 100'000'000;
  options.retry.initial_interval_ns = 5'000'000;
  options.retry.max_interval_ns = 20'000'000;
  return options;
}

// Not a test of its own: what the killed process runs. Writes the unacknowledged requests again,
// then new ones, and prints "sent N" and "acknowledged N".
TEST(ExportCrashChild, DISABLED_Exports) {
  const char* directory = std::getenv("WHEREFORE_CRASH_DIRECTORY");
  const char* url = std::getenv("WHEREFORE_CRASH_URL");
  const char* to_repeat = std::getenv("WHEREFORE_CRASH_AGAIN");
  const char* first = std::getenv("WHEREFORE_CRASH_NEXT");
  if (directory == nullptr || url == nullptr || to_repeat == nullptr || first == nullptr)
    GTEST_SKIP() << "run by ExportCrash.KilledAtRandomMoments";
  SetLogLevel(LogLevel::kOff);
  std::vector<int> again;
  std::istringstream list(to_repeat);
  for (int number = 0; list >> number;) again.push_back(number);
  int next = std::atoi(first);
  const auto exporter = MakeExporter(OptionsFor(directory, url));
  ASSERT_TRUE(exporter && (*exporter)->Start());
  std::atomic<int> waiting{0};
  while (true) {
    int number = next;
    if (again.empty()) {
      ++next;
    } else {
      number = again.back();
      again.pop_back();
    }
    while (waiting >= 8) std::this_thread::yield();
    ++waiting;
    dprintf(STDOUT_FILENO, "sent %d\n", number);
    (*exporter)->Write(TestRequest(number),
                       [&waiting, number](const Result<profile::WriteAnswer>& answer) {
                         if (answer) dprintf(STDOUT_FILENO, "acknowledged %d\n", number);
                         --waiting;
                       });
  }
}

// The next hop: counts every function once per request that it has not seen before, as a store
// does.
class CountingSink final : public profile::Sink {
 public:
  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override {
    const auto& batch = std::get<profile::Batch>(request.data);
    {
      MutexLock lock(mutex_);
      if (!seen_.insert(request.identity).second) {
        ++repeats_;
      } else {
        for (const profile::Id stack : batch.samples.stack) {
          const profile::Frame& frame = batch.frames[batch.StackFrames(stack)[0]];
          const profile::Id function = batch.FrameLines(frame)[0].function;
          ++counts_[std::string(batch.Text(batch.functions[function].name))];
        }
      }
    }
    done(request.decoded);
  }
  [[nodiscard]] std::map<std::string, int> counts() {
    MutexLock lock(mutex_);
    return counts_;
  }
  [[nodiscard]] int repeats() {
    MutexLock lock(mutex_);
    return repeats_;
  }

 private:
  Mutex mutex_;
  std::set<Hash128> seen_ GUARDED_BY(mutex_);
  std::map<std::string, int> counts_ GUARDED_BY(mutex_);
  int repeats_ GUARDED_BY(mutex_) = 0;
};

// Its server, which is often in a bad mood.
class MoodyServer {
 public:
  explicit MoodyServer(CountingSink& sink)
      : receiver_(Intake(sink, std::make_shared<ReceiverMetrics>()), {}) {
    receiver_.AddRoutes(inner_);
    auto router = std::make_shared<net::Router>();
    router->SetFallback([this](net::HttpRequest request, net::Respond respond) {
      const unsigned mood = moody_ ? Draw() % 10 : 9;
      if (mood < 2) return Refuse(respond);
      if (mood > 3) return inner_.Handle(std::move(request), std::move(respond));
      // Stores (or not) and never answers.
      if (mood == 2) {
        inner_.Handle(std::move(request), [](const net::HttpResponse&) {});
      }
      MutexLock lock(mutex_);
      unanswered_.push_back(std::move(respond));
    });
    server_ = std::make_unique<net::HttpServer>(
        io_, net::HttpServerOptions{.addresses = {"127.0.0.1"}}, router);
    EXPECT_TRUE(server_->Start());
  }
  ~MoodyServer() {
    {
      MutexLock lock(mutex_);
      unanswered_.clear();
    }
    server_->Stop(0);
  }
  [[nodiscard]] std::string Url() const {
    return fmt::format("http://127.0.0.1:{}", server_->port());
  }
  void CheerUp() { moody_ = false; }

 private:
  static void Refuse(const net::Respond& respond) {
    net::HttpResponse response;
    response.status = 503;
    respond(std::move(response));
  }
  unsigned Draw() {
    MutexLock lock(mutex_);
    return static_cast<unsigned>(random_());
  }

  std::atomic<bool> moody_ = true;
  Mutex mutex_;
  std::mt19937 random_ GUARDED_BY(mutex_){static_cast<unsigned>(getpid())};
  std::vector<net::Respond> unanswered_ GUARDED_BY(mutex_);
  OtlpReceiver receiver_;
  net::Router inner_;
  net::IoThreads io_{2};
  std::unique_ptr<net::HttpServer> server_;
};

struct Progress {
  std::set<int> unacknowledged;
  int next = 0;
};

// One life of the exporter: starts it, kills it after `life`, and notes what it said.
void RunChild(const std::string& directory, const std::string& url, std::chrono::milliseconds life,
              Progress& progress) {
  std::string again;
  for (const int number : progress.unacknowledged) again += std::to_string(number) + " ";
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  const std::string executable = std::filesystem::read_symlink("/proc/self/exe");
  const std::string next = std::to_string(progress.next);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_fds[1], STDOUT_FILENO);
    setenv("WHEREFORE_CRASH_DIRECTORY", directory.c_str(), 1);
    setenv("WHEREFORE_CRASH_URL", url.c_str(), 1);
    setenv("WHEREFORE_CRASH_AGAIN", again.c_str(), 1);
    setenv("WHEREFORE_CRASH_NEXT", next.c_str(), 1);
    execl(executable.c_str(), "gateway_test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=ExportCrashChild.DISABLED_Exports", nullptr);
    _exit(127);
  }
  close(pipe_fds[1]);
  FILE* lines = fdopen(pipe_fds[0], "r");
  std::thread killer;
  char line[128];
  while (fgets(line, sizeof(line), lines) != nullptr) {
    int number = 0;
    if (std::sscanf(line, "sent %d", &number) == 1) {
      if (!killer.joinable()) {
        killer = std::thread([child, life] {
          std::this_thread::sleep_for(life);
          kill(child, SIGKILL);
        });
      }
      progress.unacknowledged.insert(number);
      progress.next = std::max(progress.next, number + 1);
    } else if (std::sscanf(line, "acknowledged %d", &number) == 1) {
      progress.unacknowledged.erase(number);
    }
  }
  std::fclose(lines);
  if (killer.joinable()) killer.join();
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the exporter ended by itself: " << status;
}

TEST(ExportCrash, KilledAtRandomMomentsEverythingArrivesOnce) {
  const char* wanted = std::getenv("WHEREFORE_CRASH_ROUNDS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 8;
  const TestDirectory directory;
  CountingSink sink;
  MoodyServer server(sink);
  std::mt19937 random(static_cast<unsigned>(getpid()));
  Progress progress;
  for (int round = 0; round < rounds; ++round) {
    RunChild(directory / "queue", server.Url(), std::chrono::milliseconds(20 + random() % 300),
             progress);
    if (HasFatalFailure()) return;
  }
  server.CheerUp();
  SetLogLevel(LogLevel::kOff);
  const auto exporter = MakeExporter(OptionsFor(directory / "queue", server.Url()));
  ASSERT_TRUE(exporter && (*exporter)->Start());
  const std::int64_t end = MonotonicNs() + 60 * kNsPerSecond;
  while ((*exporter)->status().facts.at(0).second != "0") {
    ASSERT_LT(MonotonicNs(), end) << (*exporter)->status().facts.at(0).second;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  (*exporter)->Stop();
  SetLogLevel(LogLevel::kInfo);
  const auto counts = sink.counts();
  for (int number = 0; number < progress.next; ++number) {
    const auto found = counts.find("f" + std::to_string(number));
    const int times = found == counts.end() ? 0 : found->second;
    if (progress.unacknowledged.contains(number)) {
      EXPECT_LE(times, 1) << number;
    } else {
      EXPECT_EQ(times, 1) << number;
    }
  }
  EXPECT_GT(sink.repeats(), 0) << "otherwise nothing was put to the test";
  RecordProperty("requests", progress.next);
  RecordProperty("repeats", sink.repeats());
  fmt::print("{} requests, {} of the batches came again\n", progress.next, sink.repeats());
}

}  // namespace
}  // namespace wherefore::gateway
