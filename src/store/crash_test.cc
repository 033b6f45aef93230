// Kills a process that writes, at random moments, and checks that every acknowledged sample is
// there exactly once; the same for a disk that fills up and for damaged logs.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/test_directory.h"
#include "journal/wal.h"
#include "store/store.h"
#include "store/test_batch.h"

namespace wherefore::store {
namespace {

using Totals = std::map<std::string, std::int64_t>;

std::string FunctionOf(int request) {
  return "f" + std::to_string(request % 37);
}
std::int64_t ValueOf(int request) {
  return request % 7 + 1;
}

profile::WriteRequest RequestOf(int request) {
  BatchBuilder batch;
  batch.Add({.time_ns = NowUnixNs()}, {{{FunctionOf(request), "main"}, ValueOf(request)}});
  return batch.Request("request " + std::to_string(request));
}

Totals ExpectedTotals(int requests) {
  Totals totals;
  for (int i = 0; i < requests; ++i) totals["main;" + FunctionOf(i)] += ValueOf(i);
  return totals;
}

std::unique_ptr<Store> OpenAt(const std::string& path) {
  auto opened = Store::Open({.directory = path, .flush_interval_ns = 20'000'000});
  EXPECT_TRUE(opened) << opened.error().message();
  return opened ? std::move(*opened) : nullptr;
}

// Not a test of its own: what the killed process runs. Writes the unacknowledged requests again,
// then new ones, and prints "acknowledged N" lines.
TEST(CrashChild, DISABLED_Writes) {
  const char* directory = std::getenv("WHEREFORE_CRASH_DIRECTORY");
  const char* to_repeat = std::getenv("WHEREFORE_CRASH_AGAIN");
  const char* first = std::getenv("WHEREFORE_CRASH_NEXT");
  if (directory == nullptr || to_repeat == nullptr || first == nullptr)
    GTEST_SKIP() << "run by Crash.KilledAtRandomMoments";
  SetLogLevel(LogLevel::kOff);
  std::vector<int> again;
  std::istringstream list(to_repeat);
  for (int number = 0; list >> number;) again.push_back(number);
  int next = std::atoi(first);
  auto store = OpenAt(directory);
  ASSERT_TRUE(store);
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
    store->Write(RequestOf(number), [&waiting, number](const Result<profile::WriteAnswer>& answer) {
      if (answer) dprintf(STDOUT_FILENO, "acknowledged %d\n", number);
      --waiting;
    });
  }
}

struct Progress {
  std::set<int> unacknowledged;
  int next = 0;
};

// One life of the writer: starts it, kills it after `life`, and notes what it said.
void RunChild(const std::string& directory, std::chrono::milliseconds life, Progress& progress) {
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
    setenv("WHEREFORE_CRASH_AGAIN", again.c_str(), 1);
    setenv("WHEREFORE_CRASH_NEXT", next.c_str(), 1);
    execl(executable.c_str(), "store_test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=CrashChild.DISABLED_Writes", nullptr);
    _exit(127);
  }
  close(pipe_fds[1]);
  FILE* lines = fdopen(pipe_fds[0], "r");
  std::thread killer;
  char line[128];
  while (fgets(line, sizeof(line), lines) != nullptr) {
    int number = 0;
    if (std::sscanf(line, "sent %d", &number) == 1) {
      // The clock starts with the first request, so that every life does something.
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
  ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << status;
}

TEST(Crash, KilledAtRandomMomentsEverythingCountsOnce) {
  WHEREFORE_SKIP_WITHOUT_ENGINE();
  const char* wanted = std::getenv("WHEREFORE_CRASH_ROUNDS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 6;
  const TestDirectory directory;
  std::mt19937 random(static_cast<unsigned>(getpid()));
  Progress progress;
  for (int round = 0; round < rounds; ++round) {
    RunChild(directory / "data", std::chrono::milliseconds(20 + random() % 500), progress);
    if (HasFatalFailure()) return;
  }
  auto store = OpenAt(directory / "data");
  ASSERT_TRUE(store);
  for (const int number : progress.unacknowledged) ASSERT_TRUE(WriteNow(*store, RequestOf(number)));
  ASSERT_TRUE(store->Flush());
  EXPECT_GT(progress.next, rounds);
  EXPECT_EQ(StackTotals(*store, "shop"), ExpectedTotals(progress.next))
      << progress.next << " requests";
}

// Ten requests in the engine, and their log there again: as if killed before it was removed.
void WriteAndBringTheLogBack(const TestDirectory& directory) {
  const std::string log = directory / "data/wal";
  {
    auto opened =
        Store::Open({.directory = directory / "data", .flush_interval_ns = 3'600'000'000'000});
    ASSERT_TRUE(opened);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(WriteNow(**opened, RequestOf(i)));
    std::filesystem::copy(log, directory / "copy", std::filesystem::copy_options::recursive);
    ASSERT_TRUE((*opened)->Flush());
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory / "copy")) {
    std::filesystem::copy(entry, log, std::filesystem::copy_options::overwrite_existing);
  }
}

TEST(Crash, AnInsertedSegmentThatComesBackCountsOnce) {
  WHEREFORE_SKIP_WITHOUT_ENGINE();
  const TestDirectory directory;
  WriteAndBringTheLogBack(directory);
  auto store = OpenAt(directory / "data");
  ASSERT_TRUE(store);
  EXPECT_EQ(StackTotals(*store, "shop"), ExpectedTotals(10));
}

// The parts of all tables, or of every second one.
std::vector<std::filesystem::path> PartFolders(const std::string& engine, std::size_t step) {
  std::vector<std::filesystem::path> parts;
  std::size_t tables = 0;
  for (const auto& group : std::filesystem::directory_iterator(engine + "/store")) {
    for (const auto& table : std::filesystem::directory_iterator(group)) {
      if (!std::filesystem::exists(table.path() / "deduplication_logs")) continue;
      if (tables++ % step != 0) continue;
      for (const auto& entry : std::filesystem::directory_iterator(table)) {
        if (std::isdigit(entry.path().filename().string()[0]) != 0) parts.push_back(entry);
      }
    }
  }
  return parts;
}

TEST(Crash, AnInsertThatTheEngineOnlyNotedIsMadeAgain) {
  WHEREFORE_SKIP_WITHOUT_ENGINE();
  // Killed before the part had its name; a power cut while its files were on their way to the disk.
  const std::array<std::function<void(const std::filesystem::path&)>, 2> accidents = {
      [](const std::filesystem::path& part) { std::filesystem::remove_all(part); },
      [](const std::filesystem::path& part) {
        for (const auto& file : std::filesystem::directory_iterator(part))
          std::filesystem::resize_file(file, 0);
      }};
  for (const auto& accident : accidents) {
    for (const std::size_t step : {1, 2}) {
      const TestDirectory directory;
      WriteAndBringTheLogBack(directory);
      if (HasFatalFailure()) return;
      const auto parts = PartFolders(directory / "data/engine", step);
      ASSERT_FALSE(parts.empty());
      for (const auto& part : parts) accident(part);
      for (int start = 0; start < 2; ++start) {
        auto store = OpenAt(directory / "data");
        ASSERT_TRUE(store);
        EXPECT_EQ(StackTotals(*store, "shop"), ExpectedTotals(10)) << "start " << start;
      }
    }
  }
}

TEST(Crash, ATornTailIsIgnoredAndADamagedSegmentIsSetAside) {
  WHEREFORE_SKIP_WITHOUT_ENGINE();
  const TestDirectory directory;
  std::string segment;
  {
    auto opened =
        Store::Open({.directory = directory / "data", .flush_interval_ns = 3'600'000'000'000});
    ASSERT_TRUE(opened);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(WriteNow(**opened, RequestOf(i)));
    for (const auto& entry : std::filesystem::directory_iterator(directory / "data/wal"))
      segment = entry.path();
    std::filesystem::copy(segment, directory / "segment");
  }
  const std::string bytes = *journal::ReadWholeFile(directory / "segment");
  const auto content = journal::ParseSegment(bytes);
  ASSERT_TRUE(content);
  ASSERT_EQ(content->frames.size(), 3u);
  const auto fresh = [&](const std::string& name, const std::string& log_bytes) {
    std::filesystem::create_directories(directory / (name + "/wal"));
    std::ofstream(directory / (name + "/wal/000001.log"), std::ios::binary) << log_bytes;
    return OpenAt(directory / name);
  };
  {
    auto store = fresh("torn", bytes.substr(0, bytes.size() - 1));
    ASSERT_TRUE(store);
    EXPECT_EQ(StackTotals(*store, "shop"), ExpectedTotals(2));
    EXPECT_TRUE(store->status(0).problems.empty());
    // What was cut off was never acknowledged; its sender sends again.
    ASSERT_TRUE(WriteNow(*store, RequestOf(2)));
    ASSERT_TRUE(store->Flush());
    EXPECT_EQ(StackTotals(*store, "shop"), ExpectedTotals(3));
  }
  std::string damaged = bytes;
  const auto second = static_cast<std::size_t>(content->frames[1].data() - bytes.data());
  damaged[second] = static_cast<char>(damaged[second] ^ 1);
  auto store = fresh("damaged", damaged);
  ASSERT_TRUE(store);
  Totals kept = ExpectedTotals(3);
  kept.erase("main;" + FunctionOf(1));
  EXPECT_EQ(StackTotals(*store, "shop"), kept) << "frames behind the damage count";
  ASSERT_EQ(store->status(0).problems.size(), 1u);
  EXPECT_NE(store->status(0).problems[0].what.find("damaged"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(directory / "damaged/wal/000001.bad"));
}

// A small file system of its own; skipped without the right to mount one.
TEST(DiskFull, SendersAreToldAndItHealsByItself) {
  WHEREFORE_SKIP_WITHOUT_ENGINE();
  const TestDirectory directory;
  if (mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=48m") != 0)
    GTEST_SKIP() << "needs the right to mount a tmpfs";
  struct Unmount {
    std::string path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } const unmount{directory.path()};
  {
    auto store = OpenAt(directory / "data");
    ASSERT_TRUE(store);
    int next = 0;
    for (; next < 5; ++next) ASSERT_TRUE(WriteNow(*store, RequestOf(next)));
    {
      std::ofstream ballast(directory / "ballast", std::ios::binary);
      const std::string chunk(1 << 16, 'x');
      while (ballast << chunk << std::flush) {
      }
    }
    // New function names each time: their ids must survive the failed attempts.
    int refused = 0;
    for (int attempt = 0; attempt < 2000 && refused < 3; ++attempt) {
      const auto answer = WriteNow(*store, RequestOf(next));
      if (answer) {
        ++next;
      } else {
        EXPECT_EQ(answer.error().code(), Code::kUnavailable) << answer.error().message();
        ++refused;
      }
    }
    ASSERT_EQ(refused, 3) << "the disk never filled up";
    EXPECT_FALSE(store->NotReadyReason().empty());
    EXPECT_FALSE(store->status(0).problems.empty());
    std::filesystem::remove(directory / "ballast");
    for (int i = 0; i < 1000 && !store->NotReadyReason().empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(store->NotReadyReason(), "");
    for (int i = 0; i < 40; ++i, ++next) ASSERT_TRUE(WriteNow(*store, RequestOf(next)));
    ASSERT_TRUE(store->Flush());
    EXPECT_EQ(StackTotals(*store, "shop"), ExpectedTotals(next));
    store.reset();
    store = OpenAt(directory / "data");
    ASSERT_TRUE(store);
    EXPECT_EQ(StackTotals(*store, "shop"), ExpectedTotals(next));
  }
}

}  // namespace
}  // namespace wherefore::store
