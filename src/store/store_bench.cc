// Ingest cost and bytes on disk, on the load of docs/performance.md: services x instances, one
// profile per instance and 10 s, 120 samples of 26 frames, Zipf over 20,000 stacks of one call tree
// per service, one sample in ten linked.
//
//   store_bench [minutes of load, default 20]
//   store_bench light SECONDS      ten profiles a second
//
// Prints CPU seconds per million samples (everything but making the load), bytes per sample by
// table after merging, and query times. Totals are compared with what was sent.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/test_directory.h"
#include "store/store.h"

namespace wherefore::store {
namespace {

constexpr int kServices = 20;
constexpr int kInstances = 5;
constexpr int kFunctions = 4'000;
constexpr int kStacks = 20'000;
constexpr int kSamples = 120;

std::int64_t ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// One service: names, a call tree whose paths are the stacks, and how popular each is.
struct Service {
  std::string name;
  std::vector<std::string> functions;
  std::vector<std::string> files;
  std::vector<std::vector<std::uint32_t>> stacks;  // functions, leaf first
};

// Some functions are called from everywhere, most from few places.
std::uint32_t Popular(std::mt19937_64& random) {
  const double at = std::uniform_real_distribution<double>(0, 1)(random);
  return static_cast<std::uint32_t>(at * at * at * kFunctions);
}

Service MakeService(int index, std::mt19937_64& random) {
  Service service;
  service.name = "service-" + std::to_string(index);
  for (int i = 0; i < kFunctions; ++i) {
    service.functions.push_back("shop::module" + std::to_string(i % 61) + "::Class" +
                                std::to_string(i % 397) + "::Function" + std::to_string(i));
    service.files.push_back("/src/shop/module" + std::to_string(i % 61) + "/class" +
                            std::to_string(i % 397) + ".cc");
  }
  struct Node {
    std::uint32_t parent;
    std::uint32_t function;
    std::uint32_t depth;
  };
  std::vector<Node> tree = {{0, 0, 1}};
  while (tree.size() < 60'000) {
    // Deep trees: mostly extend a recent node.
    const std::size_t parent =
        random() % 4 == 0 ? random() % tree.size()
                          : tree.size() - 1 - random() % std::min<std::size_t>(tree.size(), 8);
    if (tree[parent].depth > 45) continue;
    tree.push_back({static_cast<std::uint32_t>(parent), Popular(random), tree[parent].depth + 1});
  }
  std::size_t depths = 0;
  while (service.stacks.size() < kStacks) {
    const std::size_t leaf = random() % tree.size();
    // Keep the mean depth near 26.
    const double mean = service.stacks.empty() ? 26
                                               : static_cast<double>(depths) /
                                                     static_cast<double>(service.stacks.size());
    if ((mean < 26) != (tree[leaf].depth >= 26)) continue;
    std::vector<std::uint32_t> stack;
    for (std::size_t at = leaf;; at = tree[at].parent) {
      stack.push_back(tree[at].function);
      if (at == 0) break;
    }
    depths += stack.size();
    service.stacks.push_back(std::move(stack));
  }
  return service;
}

class Load {
 public:
  explicit Load(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < kServices; ++i) services_.push_back(MakeService(i, random_));
    double sum = 0;
    for (int rank = 1; rank <= kStacks; ++rank)
      cumulative_.push_back(sum += 1 / std::pow(rank, 1.05));
  }

  profile::WriteRequest Make(int service_index, int instance, std::int64_t time_ns) {
    const Service& service = services_[static_cast<std::size_t>(service_index)];
    std::map<std::uint32_t, std::int64_t> counts;
    while (counts.size() < kSamples) ++counts[Draw()];
    profile::Batch batch;
    body_ = std::make_shared<std::string>();
    body_->reserve(1 << 19);
    batch.Own(body_);
    const auto label = [&](std::string_view key, std::string_view value) {
      batch.own_attributes.push_back(
          {batch.AddText(key), 0, {profile::Value::Kind::kString, batch.AddText(value), 0}});
    };
    label("service.name", service.name);
    label("service.instance.id", "instance-" + std::to_string(instance));
    label("host.name", "host-" + std::to_string(instance));
    batch.resources.push_back({{0, 3}, 0, 0, 0});
    batch.mappings.push_back({0x400000, 0x900000, 0, batch.AddText("/usr/bin/shop"), {}});
    profile::Profile profile;
    profile.resource = 1;
    profile.sample_type = {batch.AddText("samples"), batch.AddText("count")};
    profile.period_type = {batch.AddText("cpu"), batch.AddText("nanoseconds")};
    profile.period = 10'000'000;
    profile.time_ns = static_cast<std::uint64_t>(time_ns);
    profile.duration_ns = 10 * kNsPerSecond;
    for (auto& byte : profile.id) byte = static_cast<std::uint8_t>(random_());
    profile.sample_count = kSamples;
    frames_.assign(kFunctions, 0);
    files_.assign(std::size_t{61} * 397, 0);
    int sample = 0;
    for (const auto& [stack, count] : counts) {
      const auto begin = static_cast<std::uint32_t>(batch.stack_frames.size());
      for (const std::uint32_t function : service.stacks[stack])
        batch.stack_frames.push_back(Frame(batch, service, function));
      batch.stacks.push_back(
          {begin, static_cast<std::uint32_t>(batch.stack_frames.size()) - begin});
      profile::Id link = 0;
      if (sample++ % 10 == 0) {
        profile::Link entry;
        for (auto& byte : entry.trace) byte = static_cast<std::uint8_t>(random_());
        for (auto& byte : entry.span) byte = static_cast<std::uint8_t>(random_());
        batch.links.push_back(entry);
        link = static_cast<profile::Id>(batch.links.size() - 1);
      }
      batch.samples.Append(static_cast<profile::Id>(batch.stacks.size() - 1), {}, link, count, {},
                           {});
      total_ += count;
    }
    batch.profiles.push_back(profile);
    functions_ += batch.functions.size();
    profile::WriteRequest request;
    request.data = std::move(batch);
    request.identity = {random_(), random_()};
    request.arrival_ns = time_ns;
    return request;
  }
  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::size_t functions() const { return functions_; }

 private:
  std::uint32_t Draw() {
    const double at = std::uniform_real_distribution<double>(0, cumulative_.back())(random_);
    return static_cast<std::uint32_t>(std::ranges::lower_bound(cumulative_, at) -
                                      cumulative_.begin());
  }
  // Texts of a request lie side by side in its body, as they do when it comes from the network.
  std::string_view Copy(const std::string& text) {
    const std::size_t at = body_->size();
    if (at + text.size() > body_->capacity()) std::abort();
    *body_ += text;
    return std::string_view(*body_).substr(at);
  }
  profile::Id File(profile::Batch& batch, const Service& service, std::uint32_t function) {
    profile::Id& id = files_[function % 61 * 397 + function % 397];
    if (id == 0) id = batch.AddView(Copy(service.files[function]));
    return id;
  }
  profile::Id Frame(profile::Batch& batch, const Service& service, std::uint32_t function) {
    profile::Id& id = frames_[function];
    if (id == 0) {
      batch.functions.push_back(
          {batch.AddView(Copy(service.functions[function])), 0, File(batch, service, function), 0});
      batch.lines.push_back(
          {static_cast<profile::Id>(batch.functions.size() - 1), function % 900 + 1, 0});
      batch.frames.push_back({1,
                              0x400000 + function * 64u,
                              {static_cast<std::uint32_t>(batch.lines.size() - 1), 1},
                              {}});
      id = static_cast<profile::Id>(batch.frames.size() - 1);
    }
    return id;
  }

  std::mt19937_64 random_;
  std::vector<Service> services_;
  std::vector<double> cumulative_;
  std::vector<profile::Id> frames_;
  std::vector<profile::Id> files_;
  std::size_t functions_ = 0;
  std::shared_ptr<std::string> body_;
  std::int64_t total_ = 0;
};

// At most `limit` requests on their way.
class Window {
 public:
  explicit Window(int limit) : limit_(limit) {}
  void Enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return in_ < limit_; });
    ++in_;
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    --in_;
    changed_.notify_all();
  }
  void Drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return in_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int limit_;
  int in_ = 0;
};

// CPU seconds of the threads alive, by name.
void PrintThreads(double samples) {
  std::map<std::string, double> by_name;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream stat(task.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    std::istringstream rest(text.substr(close + 2));
    std::string word;
    double ticks = 0;
    for (int field = 3; rest >> word && field <= 15; ++field) {
      if (field >= 14) ticks += std::atof(word.c_str());
    }
    by_name[text.substr(open + 1, close - open - 1)] +=
        ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  for (const auto& [name, seconds] : by_name) {
    if (seconds > 0.01)
      std::printf("  %-16s %6.2f s %6.2f s per million samples\n", name.c_str(), seconds,
                  seconds / samples * 1e6);
  }
}

template <typename F>
void Time(const char* what, F&& query) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 9; ++i) {
    const std::int64_t begin = MonotonicNs();
    query();
    times.push_back(MonotonicNs() - begin);
  }
  std::ranges::sort(times);
  std::printf("%-36s p50 %7.1f ms\n", what, static_cast<double>(times[4]) / 1e6);
}

void PrintTables(Store& store, double samples) {
  const auto statistics = store.reader().Statistics({});
  double sum = 0;
  for (std::size_t i = 0; statistics && i < statistics->rows.size(); ++i) {
    const auto& [table, bytes] = statistics->bytes_on_disk[i];
    const auto rows = static_cast<double>(statistics->rows[i].second);
    std::printf("  %-12s %10.0f rows %8.2f bytes/row %7.3f bytes/sample\n", table.c_str(), rows,
                static_cast<double>(bytes) / rows, static_cast<double>(bytes) / samples);
    sum += static_cast<double>(bytes) / samples;
  }
  std::printf("  %-12s %44.3f bytes/sample\n", "all", sum);
}

void Queries(Store& store, std::int64_t sent) {
  Reader& reader = store.reader();
  const TimeRange all{0, INT64_MAX};
  const auto services = reader.Services(0, all, {});
  if (!services || services->empty()) return;
  SampleQuery every{.tenant = 0, .range = all, .selections = {}};
  for (const ServiceRow& row : *services) every.selections.push_back({row.dictionary, {}, {}});
  SampleQuery one{.tenant = 0, .range = all, .selections = {every.selections[0]}};
  std::int64_t total = 0;
  const auto sums = reader.SumStacks(every, {});
  for (std::size_t i = 0; sums && i < sums->size(); ++i) total += (*sums)[i].value;
  std::printf("totals: sent %lld, stored %lld: %s\n", static_cast<long long>(sent),
              static_cast<long long>(total), sent == total ? "equal" : "DIFFERENT");
  Time("sum stacks, one service", [&] { (void)reader.SumStacks(one, {}); });
  Time("sum stacks, all services", [&] { (void)reader.SumStacks(every, {}); });
  Time("dictionary, one service",
       [&] { (void)reader.Dictionary(one.selections[0].dictionary, {}, {}); });
  Time("timeline, one service, 30 s",
       [&] { (void)reader.Timeline(one, {30 * kNsPerSecond}, false, {}); });
  Time("linked samples of one trace",
       [&] { (void)reader.LinkedSamples(0, profile::TraceId{1, 2}, {}, {}); });
}

// Ten profiles a second: what a quiet day costs.
int Light(Store& store, Load& load, int seconds) {
  std::int64_t cpu = 0;
  std::int64_t making = 0;
  std::int64_t wall = 0;
  int next = 0;
  for (int step = -5; step < seconds; ++step) {
    if (step == 0) {  // the first seconds warm up
      cpu = ProcessCpuNs();
      making = 0;
      wall = MonotonicNs();
    }
    for (int i = 0; i < 10; ++i, ++next) {
      const std::int64_t begin = ThreadCpuNs();
      auto request = load.Make(next % kServices, next / kServices % kInstances, NowUnixNs());
      making += ThreadCpuNs() - begin;
      store.Write(std::move(request), [](const Result<profile::WriteAnswer>&) {});
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  std::printf("10 profiles/s: %.2f %% of a core\n",
              100.0 * static_cast<double>(ProcessCpuNs() - cpu - making) /
                  static_cast<double>(MonotonicNs() - wall));
  PrintThreads(1e6);
  std::this_thread::sleep_for(std::chrono::seconds(5));
  cpu = ProcessCpuNs();
  std::this_thread::sleep_for(std::chrono::seconds(5));
  std::printf("at rest: %.2f %% of a core\n", static_cast<double>(ProcessCpuNs() - cpu) / 5e7);
  return 0;
}

// What sending a load took.
struct Sent {
  int profiles = 0;
  int failed = 0;
  std::int64_t making_ns = 0;  // CPU spent on the load itself
};

Sent Send(Store& store, Load& load, int minutes) {
  Sent sent;
  Window window(64);
  const std::int64_t start = NowUnixNs() / kNsPerDay * kNsPerDay;
  for (int step = 0; step < minutes * 6; ++step) {
    for (int i = 0; i < kServices * kInstances; ++i) {
      const std::int64_t begin = ThreadCpuNs();
      auto request =
          load.Make(i % kServices, i / kServices,
                    start + std::int64_t{step} * 10 * kNsPerSecond + std::int64_t{i} * 1'234'567);
      sent.making_ns += ThreadCpuNs() - begin;
      window.Enter();
      store.Write(std::move(request), [&](const Result<profile::WriteAnswer>& answer) {
        if (!answer) ++sent.failed;
        window.Leave();
      });
      ++sent.profiles;
    }
  }
  window.Drain();
  return sent;
}

// Until no CPU is used for a second.
void WaitForMerges() {
  for (std::int64_t last = 0; ProcessCpuNs() - last > kNsPerSecond / 20;) {
    last = ProcessCpuNs();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

// The full load: returns how many requests failed.
int Full(Store& store, Load& load, int minutes) {
  const std::int64_t cpu = ProcessCpuNs();
  const std::int64_t wall = MonotonicNs();
  const Sent sent = Send(store, load, minutes);
  const double seconds = static_cast<double>(MonotonicNs() - wall) / 1e9;
  const double samples = static_cast<double>(sent.profiles) * kSamples;
  (void)store.Flush();
  const auto cost = [&] {
    return static_cast<double>(ProcessCpuNs() - cpu - sent.making_ns) / 1e9 / (samples / 1e6);
  };
  std::printf("%d profiles, %.0f samples in %.1f s (load made in the same process), %d failed\n",
              sent.profiles, samples, seconds, sent.failed);
  std::printf("functions named per profile: %.0f\n",
              static_cast<double>(load.functions()) / sent.profiles);
  std::printf("cpu until inserted:  %.2f s per million samples\n", cost());
  WaitForMerges();
  std::printf("cpu until settled:   %.2f s per million samples\n", cost());
  PrintThreads(samples);
  const ProcessMemory memory = ReadProcessMemory();
  std::printf("memory: resident %lld MB, anonymous %lld MB\n",
              static_cast<long long>(memory.resident_bytes >> 20),
              static_cast<long long>(memory.anonymous_bytes >> 20));
  PrintTables(store, samples);
  Queries(store, load.total());
  return sent.failed;
}

int Main(int argc, char** argv) {
  const TestDirectory directory(std::filesystem::temp_directory_path());
  Load load(42);
  auto opened = Store::Open({.directory = directory / "data"});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message().c_str());
    return 3;
  }
  if (argc > 2 && std::string_view(argv[1]) == "light")
    return Light(**opened, load, std::atoi(argv[2]));
  const int failed = Full(**opened, load, argc > 1 ? std::atoi(argv[1]) : 20);
  opened->reset();
  const std::int64_t begin = MonotonicNs();
  opened = Store::Open({.directory = directory / "data"});
  if (!opened) return 3;
  std::printf("open the loaded store: %.0f ms\n", static_cast<double>(MonotonicNs() - begin) / 1e6);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace wherefore::store

int main(int argc, char** argv) {
  return wherefore::store::Main(argc, argv);
}
