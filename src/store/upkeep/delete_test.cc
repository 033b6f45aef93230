// Deleting: what goes, what stays, and what is left on the disk, also of a process that was killed
// in the middle.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "store/store.h"
#include "store/test_store.h"

namespace wherefore::store {
namespace {

// Appends the text of the engine's compressed blocks: checksum[16] method:u8 bytes:u32 raw:u32.
void AppendBlocks(const std::string& file, std::string& out) {
  constexpr std::size_t kChecksum = 16;
  constexpr std::size_t kHeader = 9;
  constexpr char kZstdMethod = static_cast<char>(0x90);
  for (std::size_t at = 0; at + kChecksum + kHeader <= file.size();) {
    std::uint32_t sizes[2];
    std::memcpy(sizes, file.data() + at + kChecksum + 1, sizeof(sizes));
    if (sizes[0] < kHeader || sizes[0] > file.size() - at - kChecksum) return;
    if (file[at + kChecksum] == kZstdMethod) {
      std::string raw(sizes[1], '\0');
      const std::size_t got = ZSTD_decompress(
          raw.data(), raw.size(), file.data() + at + kChecksum + kHeader, sizes[0] - kHeader);
      if (ZSTD_isError(got) == 0) out += raw;
    }
    at += kChecksum + sizes[0];
  }
}

// Files below a directory that hold `text`, plain or compressed by the engine.
std::vector<std::string> FilesWith(const std::string& directory, const std::string& text) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    if (entry.path().extension() == ".bin") AppendBlocks(std::string(bytes), bytes);
    if (bytes.find(text) != std::string::npos) found.push_back(entry.path());
  }
  return found;
}

const std::string kSecretFunction = "secret_token_of_the_bank";
const std::string kSecretPod = "pod-with-a-password-in-its-name";
const BatchBuilder::Sample kLeak{{kSecretFunction, "main"}, 3};

// Series of `shop` whose label has this value, as a selection.
std::vector<SeriesSelection> Select(Store& store, const std::string& label,
                                    const std::string& value) {
  std::vector<SeriesSelection> selections;
  const auto services = store.reader().Services(0, {0, INT64_MAX}, {});
  EXPECT_TRUE(services);
  for (const ServiceRow& row : *services) {
    const auto series = store.reader().Series(row.dictionary, 1, {});
    EXPECT_TRUE(series) << series.error().message();
    SeriesSelection one{.dictionary = row.dictionary, .series = {}, .types = {}};
    for (const SeriesRow& s : *series) {
      if (std::ranges::find(s.labels, std::pair(label, value)) != s.labels.end()) {
        one.series.push_back(s.series);
      }
    }
    if (!one.series.empty()) selections.push_back(one);
  }
  return selections;
}

Result<DeleteResult> DeleteLabel(Store& store, const std::string& label, const std::string& value) {
  return store.Delete(
      {.tenant = 0, .range = {0, INT64_MAX}, .selections = Select(store, label, value)});
}

class DeleteTest : public StoreTest {
 protected:
  void Write(const std::string& pod, const std::vector<BatchBuilder::Sample>& samples) {
    BatchBuilder batch;
    batch.Add({.resource = {{"pod", pod}}, .time_ns = now_}, samples);
    const auto answer = WriteNow(*store_, batch.Request(std::to_string(++requests_)));
    ASSERT_TRUE(answer) << answer.error().message();
  }
  // Rows and names of the leak are gone; the rest is there.
  void ExpectNoLeak() {
    EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main;work", 5}}));
    EXPECT_EQ(FilesWith(data_, kSecretFunction), std::vector<std::string>{});
    EXPECT_EQ(FilesWith(data_, kSecretPod), std::vector<std::string>{});
    EXPECT_FALSE(std::filesystem::exists(data_ + "/deleting"));
  }

  const std::string data_ = directory_ / "data";
  int requests_ = 0;
};

TEST_F(DeleteTest, NamesOnlyTheDeletedRowsUsedAreGoneFromTheDisk) {
  Write(kSecretPod, {kLeak});
  Write("b", {{{"work", "main"}, 5}});
  ASSERT_FALSE(FilesWith(data_ + "/wal", kSecretFunction).empty()) << "the search works";
  ASSERT_TRUE(store_->Flush());
  ASSERT_FALSE(FilesWith(data_ + "/engine", kSecretFunction).empty());
  ASSERT_FALSE(FilesWith(data_ + "/engine", kSecretPod).empty());
  const auto deleted = DeleteLabel(*store_, "pod", kSecretPod);
  ASSERT_TRUE(deleted) << deleted.error().message();
  EXPECT_EQ(deleted->samples, 1u);
  EXPECT_EQ(deleted->profiles, 1u);
  ExpectNoLeak();
  EXPECT_FALSE(FilesWith(data_ + "/engine", "_Zwork").empty()) << "names in use stay";
  Open();
  ExpectNoLeak();
}

TEST_F(DeleteTest, ADeletedNameSentAgainIsANewName) {
  Write(kSecretPod, {kLeak});
  Write("b", {{{"work", "main"}, 5}});
  ASSERT_TRUE(store_->Flush());
  ASSERT_TRUE(DeleteLabel(*store_, "pod", kSecretPod));
  Write(kSecretPod, {kLeak});
  ASSERT_TRUE(store_->Flush());
  const Totals both{{"main;work", 5}, {"main;" + kSecretFunction, 3}};
  EXPECT_EQ(StackTotals(*store_, "shop"), both);
  Open();
  Write(kSecretPod, {kLeak});
  ASSERT_TRUE(store_->Flush());
  EXPECT_EQ(StackTotals(*store_, "shop"),
            (Totals{{"main;work", 5}, {"main;" + kSecretFunction, 6}}));
  ASSERT_TRUE(DeleteLabel(*store_, "pod", kSecretPod));
  ExpectNoLeak();
}

TEST_F(DeleteTest, ALabelOfSamplesGoesWithoutTheProfileItStandsIn) {
  const BatchBuilder::Sample labelled{{kSecretFunction, "main"}, 3, "", "", {},
                                      {{"user", kSecretPod}}};
  Write("b", {labelled, {{"work", "main"}, 5}});
  ASSERT_TRUE(store_->Flush());
  const auto deleted = DeleteLabel(*store_, "user", kSecretPod);
  ASSERT_TRUE(deleted) << deleted.error().message();
  EXPECT_EQ(deleted->samples, 1u);
  EXPECT_EQ(deleted->profiles, 0u);
  ExpectNoLeak();
  EXPECT_FALSE(Select(*store_, "pod", "b").empty());
  // The profile says what is left of it: timelines read it instead of the samples.
  const auto profiles = store_->reader().Profiles(
      {.tenant = 0, .range = {0, INT64_MAX}, .selections = Select(*store_, "pod", "b")}, 0, {});
  ASSERT_TRUE(profiles);
  ASSERT_EQ(profiles->size(), 1u);
  EXPECT_EQ(profiles->at(0).total, 5);
  EXPECT_EQ(profiles->at(0).samples, 1);
}

TEST_F(DeleteTest, WhatIsLeftOfAProfileMayBeMoreThan64BitsHold) {
  const BatchBuilder::Sample labelled{{kSecretFunction, "main"}, 3, "", "", {},
                                      {{"user", kSecretPod}}};
  const std::int64_t much = INT64_MAX / 2;
  for (const int sign : {1, -1}) {
    const std::string pod = sign > 0 ? "more" : "less";
    Write(pod, {labelled,
                {{"a", "main"}, sign * much},
                {{"b", "main"}, sign * much},
                {{"c", "main"}, sign * 5}});
    ASSERT_TRUE(store_->Flush());
    ASSERT_TRUE(DeleteLabel(*store_, "user", kSecretPod));
    const auto profiles = store_->reader().Profiles(
        {.tenant = 0, .range = {0, INT64_MAX}, .selections = Select(*store_, "pod", pod)}, 0, {});
    ASSERT_TRUE(profiles);
    ASSERT_EQ(profiles->size(), 1u);
    EXPECT_EQ(profiles->at(0).samples, 3);
    EXPECT_EQ(profiles->at(0).total, sign > 0 ? INT64_MAX : INT64_MIN) << "not what a sum wraps to";
  }
}

TEST_F(DeleteTest, DeletingNothingChangesNothing) {
  Write("b", {{{"work", "main"}, 5}});
  ASSERT_TRUE(store_->Flush());
  const auto before = Select(*store_, "pod", "b").at(0).dictionary;
  ASSERT_TRUE(
      store_->Delete({.tenant = 0, .range = {1, 2}, .selections = Select(*store_, "pod", "b")}));
  Write("b", {{{"work", "main"}, 1}});
  ASSERT_TRUE(store_->Flush());
  const auto after = Select(*store_, "pod", "b");
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].dictionary, before) << "ids go on";
}

// Three spans, the first two of one trace; the attribute `user` of the first is the secret.
profile::WriteRequest SpanRequest(std::int64_t time_ns) {
  profile::SpanBatch batch;
  const auto add = [&](std::string_view key, std::string_view value) {
    batch.own_attributes.push_back(
        {batch.AddText(key), 0, {profile::Value::Kind::kString, batch.AddText(value), 0}});
  };
  add("service.name", "shop");
  add("zone", "eu");
  batch.resources.push_back({{0, 2}, 0, 0, 0});
  add("user", kSecretPod);
  add("user", "fine");
  for (std::uint8_t i = 1; i <= 3; ++i) {
    profile::Span span;
    span.resource = 1;
    span.trace[0] = i < 3 ? 1 : 2;
    span.id[0] = i;
    span.name = batch.AddText("op");
    span.start_ns = static_cast<std::uint64_t>(time_ns) + i;
    span.end_ns = span.start_ns + 5;
    span.attributes = {i == 1 ? 2u : 3u, 1};
    batch.spans.push_back(span);
  }
  EXPECT_TRUE(batch.Validate());
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.identity = HashString("spans");
  return request;
}

TEST_F(DeleteTest, SpansGoByTheirAttributes) {
  ASSERT_TRUE(WriteNow(*store_, SpanRequest(now_)));
  ASSERT_TRUE(store_->Flush());
  const auto services = store_->reader().ServicesOfAnySignal(0, {0, INT64_MAX}, {});
  ASSERT_TRUE(services);
  DeleteRequest request{.range = {now_, now_ + kNsPerSecond}};
  for (const ServiceRow& row : *services) request.spans_of.push_back(row.dictionary);
  const auto has = [](std::string_view key, std::string_view value) {
    return [=](const SpanLabels& labels) {
      return std::ranges::find(labels, std::pair(std::string(key), std::string(value))) !=
             labels.end();
    };
  };
  const auto spans_of_trace = [&](std::uint8_t number) {
    profile::TraceId trace{};
    trace[0] = number;
    return store_->reader().Trace(0, trace, {})->size();
  };
  ASSERT_FALSE(FilesWith(data_ + "/engine", kSecretPod).empty());
  request.span_matches = has("user", kSecretPod);
  EXPECT_EQ(store_->Delete(request)->spans, 1u);
  EXPECT_EQ(FilesWith(data_, kSecretPod), std::vector<std::string>{});
  EXPECT_EQ(spans_of_trace(1), 1u);
  EXPECT_EQ(spans_of_trace(2), 1u);
  request.range.to_ns = now_ + 3;  // before the third
  request.span_matches = has("zone", "eu");
  EXPECT_EQ(store_->Delete(request)->spans, 1u);
  EXPECT_EQ(spans_of_trace(1), 0u);
  EXPECT_EQ(spans_of_trace(2), 1u);
  const auto statistics = store_->reader().Statistics({});
  const std::map<std::string, std::uint64_t> rows(statistics->rows.begin(), statistics->rows.end());
  EXPECT_EQ(rows.at("trace_index"), 1u);
}

// One span of a service.
profile::WriteRequest SpanOf(const std::string& service, std::int64_t time_ns, int number) {
  profile::SpanBatch batch;
  batch.own_attributes.push_back({batch.AddText("service.name"),
                                  0,
                                  {profile::Value::Kind::kString, batch.AddText(service), 0}});
  batch.resources.push_back({{0, 1}, 0, 0, 0});
  profile::Span span;
  span.resource = 1;
  span.trace[0] = span.id[0] = static_cast<std::uint8_t>(number + 1);
  span.name = batch.AddText("op");
  span.start_ns = static_cast<std::uint64_t>(time_ns);
  span.end_ns = span.start_ns + 5;
  batch.spans.push_back(span);
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.identity = HashString("span " + std::to_string(number));
  return request;
}

TEST_F(DeleteTest, TwoDeletesLoseNoServiceName) {
  int number = 0;
  const auto send = [&](const std::string& service) {
    ASSERT_TRUE(WriteNow(*store_, SpanOf(service, now_, number++)));
  };
  const auto names = [&] {
    std::vector<std::string> found;
    const auto services = store_->reader().ServicesOfAnySignal(0, {0, INT64_MAX}, {});
    for (const ServiceRow& row : *services) found.push_back(row.name);
    return found;
  };
  const auto remove = [&](const std::string& service) {
    ASSERT_TRUE(store_->Flush());
    DeleteRequest request{.range = {0, INT64_MAX}};
    const auto services = store_->reader().ServicesOfAnySignal(0, request.range, {});
    for (const ServiceRow& row : *services) {
      if (row.name == service) request.spans_of.push_back(row.dictionary);
    }
    ASSERT_TRUE(store_->Delete(request));
  };
  send("b");
  send("a");
  remove("b");
  send("a");
  remove("a");
  send("a");
  ASSERT_TRUE(store_->Flush());
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
  profile::TraceId trace{};
  trace[0] = static_cast<std::uint8_t>(number);
  EXPECT_EQ(store_->reader().Trace(0, trace, {})->at(0).service_name, "a");
}

TEST_F(DeleteTest, WhatComesInMeanwhileStaysWithItsNames) {
  for (int i = 0; i < 20; ++i) Write(kSecretPod, {kLeak});
  ASSERT_TRUE(store_->Flush());
  std::atomic<bool> done = false;
  std::int64_t sent = 0;
  std::thread sender([&] {
    while (!done) {
      Write("b", {{{"work" + std::to_string(sent % 7), "main"}, 1}});
      ++sent;
    }
  });
  const auto deleted = DeleteLabel(*store_, "pod", kSecretPod);
  done = true;
  sender.join();
  ASSERT_TRUE(deleted) << deleted.error().message();
  EXPECT_EQ(deleted->profiles, 20u);
  EXPECT_GT(sent, 5) << "senders do not wait for a delete";
  ASSERT_TRUE(store_->Flush());
  Totals totals = StackTotals(*store_, "shop");
  std::int64_t sum = 0;
  for (const auto& [stack, value] : totals) {
    EXPECT_TRUE(stack.starts_with("main;work")) << stack;
    sum += value;
  }
  EXPECT_EQ(sum, sent);
}

// Not a test of its own: what the killed process runs.
TEST(DeleteChild, DISABLED_Deletes) {
  const char* directory = std::getenv("WHEREFORE_DELETE_DIRECTORY");
  if (directory == nullptr) GTEST_SKIP() << "run by DeleteTest.KilledInTheMiddle...";
  SetLogLevel(LogLevel::kOff);
  auto store = Store::Open({.directory = directory});
  ASSERT_TRUE(store);
  const auto selections = Select(**store, "pod", kSecretPod);
  dprintf(STDOUT_FILENO, "begins\n");
  (void)(*store)->Delete({.tenant = 0, .range = {0, INT64_MAX}, .selections = selections});
  while (true) pause();
}

void KillWhileDeleting(const std::string& directory, std::chrono::milliseconds after) {
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  const std::string executable = std::filesystem::read_symlink("/proc/self/exe");
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_fds[1], STDOUT_FILENO);
    setenv("WHEREFORE_DELETE_DIRECTORY", directory.c_str(), 1);
    execl(executable.c_str(), "store_test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=DeleteChild.DISABLED_Deletes", nullptr);
    _exit(127);
  }
  close(pipe_fds[1]);
  FILE* lines = fdopen(pipe_fds[0], "r");
  char line[128];
  bool begun = false;
  while (!begun && fgets(line, sizeof(line), lines) != nullptr) {
    begun = std::strcmp(line, "begins\n") == 0;
  }
  if (begun) std::this_thread::sleep_for(after);
  kill(child, SIGKILL);
  std::fclose(lines);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(begun);
}

TEST_F(DeleteTest, KilledInTheMiddleItIsFinishedByDeletingAgain) {
  const char* wanted = std::getenv("WHEREFORE_CRASH_ROUNDS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 6;
  Write("b", {{{"work", "main"}, 5}});
  std::mt19937 random(static_cast<unsigned>(getpid()));
  for (int round = 0; round < rounds; ++round) {
    Write(kSecretPod, {kLeak});
    ASSERT_TRUE(store_->Flush());
    store_.reset();
    KillWhileDeleting(data_, std::chrono::milliseconds(random() % 700));
    if (HasFatalFailure()) return;
    Open();
    const auto deleted = DeleteLabel(*store_, "pod", kSecretPod);
    ASSERT_TRUE(deleted) << deleted.error().message();
    ExpectNoLeak();
  }
}

}  // namespace
}  // namespace wherefore::store
