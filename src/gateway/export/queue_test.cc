// The queue by itself: order, bounds, batches, repeats, restarts, damage, full disks.
#include "gateway/export/queue.h"

#include <sys/mount.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/test_directory.h"
#include "gateway/export/test_requests.h"

namespace wherefore::gateway {
namespace {

using Answer = Result<profile::WriteAnswer>;

QueueEntry EntryOf(int number, const std::string& tenant = {}, std::size_t padding = 0) {
  const profile::WriteRequest request = TestRequest(number, 3, tenant);
  QueueEntry entry;
  entry.tenant = tenant;
  entry.request.identity = request.identity;
  entry.items = 3;
  entry.arrival_ns = NowUnixNs();
  std::string payload = formats::EncodeOtlpProfiles(std::get<profile::Batch>(request.data));
  // A field that nobody knows.
  if (padding > 0) {
    payload += "\xfa\x7f";
    for (std::size_t size = padding;; size >>= 7) {
      payload += static_cast<char>(size >= 128 ? size | 128 : size);
      if (size < 128) break;
    }
    payload += std::string(padding, 'x');
  }
  entry.payload = std::make_shared<const std::string>(std::move(payload));
  return entry;
}

Answer AppendNow(Queue& queue, QueueEntry entry) {
  std::promise<Answer> answer;
  queue.Append(std::move(entry), [&](Answer result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

// Value sums of all samples of a request.
std::int64_t TotalOf(const std::string& bytes) {
  const auto decoded = formats::DecodeOtlpProfiles(std::make_shared<const std::string>(bytes));
  EXPECT_TRUE(decoded) << decoded.error().message();
  std::int64_t total = 0;
  for (const std::int64_t value : decoded->data.samples.value) total += value;
  return total;
}

class QueueTest : public testing::Test {
 protected:
  QueueTest() {
    SetLogLevel(LogLevel::kOff);
    options_.directory = directory_ / "queue";
  }
  ~QueueTest() override { SetLogLevel(LogLevel::kInfo); }
  void Open() {
    queue_.reset();
    queue_ = std::make_unique<Queue>(options_);
    const auto opened = queue_->Open();
    ASSERT_TRUE(opened) << opened.error().message();
  }
  // As after a kill: nothing is finished properly.
  void Abandon() {
    queue_->Close();
    queue_->Unlock();
  }
  // Takes and finishes everything that is there; the totals of each batch.
  std::vector<std::int64_t> Drain(std::size_t batches) {
    std::vector<std::int64_t> totals;
    for (std::size_t i = 0; i < batches; ++i) {
      const auto batch = queue_->Take();
      if (!batch) break;
      const auto bytes = queue_->Read(*batch);
      EXPECT_TRUE(bytes) << bytes.error().message();
      totals.push_back(bytes ? TotalOf(*bytes) : -1);
      queue_->Finish(*batch, profile::WriteAnswer{});
    }
    return totals;
  }
  [[nodiscard]] std::vector<std::string> Files(const std::string& ending) const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory + "/entries")) {
      if (entry.path().extension() == ending) files.push_back(entry.path());
    }
    return files;
  }

  TestDirectory directory_;
  QueueOptions options_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(QueueTest, RequestsComeOutInOrderAndAsTheyWere) {
  Open();
  const QueueEntry first = EntryOf(0);
  ASSERT_TRUE(AppendNow(*queue_, first));
  ASSERT_TRUE(AppendNow(*queue_, EntryOf(1)));
  EXPECT_EQ(queue_->figures().requests, 2u);
  const auto batch = queue_->Take();
  EXPECT_EQ(*queue_->Read(*batch), *first.payload) << "a single request keeps its bytes";
  queue_->Finish(*batch, profile::WriteAnswer{});
  EXPECT_EQ(Drain(1), std::vector<std::int64_t>{6});
  EXPECT_EQ(queue_->figures().requests, 0u);
  EXPECT_EQ(queue_->figures().size, 0u);
}

TEST_F(QueueTest, BoundedByEachSizer) {
  for (const Sizer sizer : {Sizer::kRequests, Sizer::kItems, Sizer::kBytes}) {
    options_.directory = directory_ / std::to_string(static_cast<int>(sizer));
    options_.sizer = sizer;
    const std::uint64_t one = sizer == Sizer::kRequests ? 1
                              : sizer == Sizer::kItems  ? 3
                                                        : EntryOf(0).payload->size();
    options_.size = 2 * one;
    Open();
    ASSERT_TRUE(AppendNow(*queue_, EntryOf(0)));
    ASSERT_TRUE(AppendNow(*queue_, EntryOf(1)));
    const auto full = AppendNow(*queue_, EntryOf(2));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code(), Code::kLimit);
    EXPECT_TRUE(AppendNow(*queue_, EntryOf(1))->repeated) << "a repeat needs no room";
    Drain(1);
    EXPECT_TRUE(AppendNow(*queue_, EntryOf(2)));
  }
}

TEST_F(QueueTest, BlockingSendersWaitForRoom) {
  options_.sizer = Sizer::kRequests;
  options_.size = 1;
  options_.block_on_overflow = true;
  Open();
  ASSERT_TRUE(AppendNow(*queue_, EntryOf(0)));
  std::promise<Answer> second;
  queue_->Append(EntryOf(1), [&](Answer answer) { second.set_value(std::move(answer)); });
  auto waits = second.get_future();
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  Drain(1);
  EXPECT_TRUE(waits.get());
}

TEST_F(QueueTest, BatchesAreFullOrOld) {
  options_.batch = BatchOptions{.timeout_ns = 300'000'000, .min_size = 9, .sizer = Sizer::kItems};
  Open();
  const std::int64_t begin = MonotonicNs();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(AppendNow(*queue_, EntryOf(i)));
  const auto full = queue_->Take();
  EXPECT_EQ(full->record.entries.size(), 3u);
  EXPECT_EQ(full->items, 9u);
  EXPECT_EQ(TotalOf(*queue_->Read(*full)), 3 * (1 + 2 + 3));
  const auto old = queue_->Take();
  EXPECT_GE(MonotonicNs() - begin, 290'000'000);
  EXPECT_EQ(old->record.entries.size(), 1u);
}

TEST_F(QueueTest, TenantsAndSignalsStayApart) {
  options_.batch = BatchOptions{.timeout_ns = 0, .min_size = 100};
  Open();
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(AppendNow(*queue_, EntryOf(i, i % 2 == 0 ? "red" : "blue")));
  const auto red = queue_->Take();
  const auto blue = queue_->Take();
  EXPECT_EQ(red->tenant, "red");
  EXPECT_EQ(blue->tenant, "blue");
  EXPECT_EQ(TotalOf(*queue_->Read(*red)), 3 * (1 + 3 + 5));
  EXPECT_EQ(TotalOf(*queue_->Read(*blue)), 3 * (2 + 4 + 6));
}

TEST_F(QueueTest, NeverMoreThanTheMaximum) {
  options_.batch = BatchOptions{.timeout_ns = 0, .min_size = 0, .max_size = 7};
  Open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(AppendNow(*queue_, EntryOf(i)));
  for (const std::size_t size : {2u, 2u, 1u}) {
    const auto batch = queue_->Take();
    EXPECT_EQ(batch->record.entries.size(), size);
    queue_->Finish(*batch, profile::WriteAnswer{});
  }
}

TEST_F(QueueTest, ARetryAfterARestartHasTheSameBytes) {
  options_.batch = BatchOptions{.timeout_ns = 0, .min_size = 0};
  Open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(AppendNow(*queue_, EntryOf(i)));
  const auto sent = queue_->Take();
  const std::string bytes = *queue_->Read(*sent);
  // More arrives, and the server halves another batch.
  for (int i = 5; i < 9; ++i) ASSERT_TRUE(AppendNow(*queue_, EntryOf(i)));
  const auto large = queue_->Take();
  ASSERT_TRUE(queue_->Halve(*large));
  const auto half = queue_->Take();
  const std::string half_bytes = *queue_->Read(*half);
  queue_->Finish(*half, profile::WriteAnswer{});
  Abandon();
  options_.batch->min_size = 1000;  // another configuration changes nothing about it
  Open();
  const auto again = queue_->Take();
  EXPECT_EQ(*queue_->Read(*again), bytes);
  const auto other_half = queue_->Take();
  EXPECT_EQ(TotalOf(*queue_->Read(*other_half)) + TotalOf(half_bytes), 3 * (6 + 7 + 8 + 9));
  queue_->Finish(*again, profile::WriteAnswer{});
  queue_->Finish(*other_half, profile::WriteAnswer{});
  EXPECT_EQ(queue_->figures().requests, 0u);
  Open();
  EXPECT_EQ(queue_->figures().requests, 0u) << "nothing comes back";
}

TEST_F(QueueTest, HalvesOfASingleRequest) {
  Open();
  ASSERT_TRUE(AppendNow(*queue_, EntryOf(9)));
  ASSERT_TRUE(queue_->Halve(*queue_->Take()));
  const auto first = queue_->Take();
  const auto second = queue_->Take();
  EXPECT_EQ(TotalOf(*queue_->Read(*first)), 20);
  EXPECT_EQ(TotalOf(*queue_->Read(*second)), 10);
  queue_->Finish(*first, profile::WriteAnswer{});
  EXPECT_EQ(queue_->figures().requests, 1u) << "its other half is not sent";
  Abandon();
  Open();
  const auto left = queue_->Take();
  EXPECT_EQ(TotalOf(*queue_->Read(*left)), 10);
  queue_->Finish(*left, profile::WriteAnswer{});
  EXPECT_EQ(queue_->figures().requests, 0u);
}

TEST_F(QueueTest, RepeatsAreKnownOverRestartsAndAfterTheyWereSent) {
  Open();
  QueueEntry entry = EntryOf(1);
  entry.request.rejected = 2;
  entry.request.message = "two were bad";
  ASSERT_FALSE(AppendNow(*queue_, entry)->repeated);
  for (int restart = 0; restart < 3; ++restart) {
    const auto again = AppendNow(*queue_, EntryOf(1));
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->repeated);
    EXPECT_EQ(again->rejected, 2u);
    EXPECT_EQ(again->message, "two were bad");
    if (restart == 0) Drain(1);
    Abandon();
    Open();
  }
  EXPECT_EQ(queue_->figures().requests, 0u);
}

TEST_F(QueueTest, RequestsWithoutIdentityAreAllDifferent) {
  Open();
  for (int i = 0; i < 3; ++i) {
    QueueEntry entry = EntryOf(i);
    entry.request.identity = {};
    EXPECT_FALSE(AppendNow(*queue_, std::move(entry))->repeated);
  }
  Abandon();
  Open();
  EXPECT_EQ(Drain(3), (std::vector<std::int64_t>{3, 6, 9}));
}

TEST_F(QueueTest, TwoOfOneKindAtTheSameTimeAreOne) {
  Open();
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 40; ++i) {
    auto promise = std::make_shared<std::promise<Answer>>();
    answers.push_back(promise->get_future());
    queue_->Append(EntryOf(i % 4), [promise](Answer a) { promise->set_value(std::move(a)); });
  }
  int repeated = 0;
  for (auto& answer : answers) repeated += answer.get()->repeated ? 1 : 0;
  EXPECT_EQ(repeated, 36);
  EXPECT_EQ(queue_->figures().requests, 4u);
}

// The first of them may be on its way to the disk when the second comes.
TEST_F(QueueTest, SendersAtTheSameTimeAreQueuedOnce) {
  Open();
  constexpr int kRequests = 200;
  std::atomic<int> repeated{0};
  std::vector<std::thread> senders;
  for (int t = 0; t < 4; ++t) {
    senders.emplace_back([&] {
      for (int i = 0; i < kRequests; ++i) {
        const Answer answer = AppendNow(*queue_, EntryOf(i));
        repeated += answer && answer->repeated ? 1 : 0;
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(repeated, 3 * kRequests);
  EXPECT_EQ(queue_->figures().requests, static_cast<std::uint64_t>(kRequests));
}

TEST_F(QueueTest, FilesGoWhenTheirRequestsAreSent) {
  Open();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(AppendNow(*queue_, EntryOf(i, {}, 1u << 20)));
  EXPECT_GE(Files(".log").size(), 4u);
  Drain(40);
  // The writer thread removes them; a new request passes through it afterwards.
  const std::int64_t end = MonotonicNs() + 10 * kNsPerSecond;
  while (Files(".log").size() > 1) ASSERT_LT(MonotonicNs(), end);
  EXPECT_TRUE(AppendNow(*queue_, EntryOf(3))->repeated) << "identities outlive the files";
  Abandon();
  Open();
  EXPECT_TRUE(AppendNow(*queue_, EntryOf(3))->repeated);
}

TEST_F(QueueTest, ADamagedFileIsSetAsideAndTheRestIsSent) {
  Open();
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(AppendNow(*queue_, EntryOf(i, {}, 1u << 20)));
  Abandon();
  const auto files = Files(".log");
  ASSERT_GE(files.size(), 3u);
  std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(3 << 20);
  file << "this was not here before";
  file.close();
  Open();
  EXPECT_EQ(queue_->figures().damaged, 1u);
  EXPECT_EQ(queue_->figures().requests, 29u);
  Drain(29);
  const std::int64_t end = MonotonicNs() + 10 * kNsPerSecond;
  while (Files(".bad").empty()) ASSERT_LT(MonotonicNs(), end);
}

TEST_F(QueueTest, DamageWhileRunningIsFoundBeforeItIsSent) {
  Open();
  ASSERT_TRUE(AppendNow(*queue_, EntryOf(0, {}, 1000)));
  std::fstream file(Files(".log").at(0), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(500);
  file << "this was not here before";
  file.close();
  const auto bytes = queue_->Read(*queue_->Take());
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code(), Code::kCorrupt);
}

TEST_F(QueueTest, WithoutItsLogOfBatchesEverythingIsSentAgain) {
  options_.batch = BatchOptions{.timeout_ns = 0, .min_size = 0};
  Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(AppendNow(*queue_, EntryOf(i)));
  (void)queue_->Take();
  Abandon();
  queue_.reset();
  std::filesystem::remove_all(options_.directory + "/batches");
  Open();
  EXPECT_EQ(Drain(1), std::vector<std::int64_t>{18});
}

TEST_F(QueueTest, OneDirectoryHasOneOwner) {
  Open();
  Queue second(options_);
  const auto opened = second.Open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kUnavailable);
  Abandon();
  Queue third(options_);
  EXPECT_TRUE(third.Open());
}

TEST_F(QueueTest, SendersThatWaitGetTheOutcome) {
  options_.wait_for_result = true;
  Open();
  const auto append = [&](int number) {
    auto promise = std::make_shared<std::promise<Answer>>();
    queue_->Append(EntryOf(number), [promise](Answer a) { promise->set_value(std::move(a)); });
    return promise->get_future();
  };
  auto refused = append(1);
  const auto batch = queue_->Take();
  EXPECT_TRUE(batch->senders_wait);
  queue_->Finish(*batch, Error(Code::kUnavailable, "not now"));
  EXPECT_EQ(refused.get().error().message(), "not now");
  auto accepted = append(1);
  queue_->Finish(*queue_->Take(), profile::WriteAnswer{1, "one", false});
  EXPECT_EQ(accepted.get()->rejected, 1u) << "it was no repeat";
  EXPECT_TRUE(append(1).get()->repeated);
}

TEST_F(QueueTest, CountersAreSentAsDifferencesOverRestartsAndRefusals) {
  options_.sizer = Sizer::kRequests;
  options_.size = 1;
  const auto reading = [](int number, std::int64_t value) {
    QueueEntry entry = EntryOf(number);
    entry.cumulative = std::make_shared<QueueEntry::Cumulative>();
    profile::Batch& batch = entry.cumulative->batch = TestBatch("shop", "f", value);
    batch.profiles[0].sample_type = {batch.AddText("alloc_space"), batch.AddText("bytes")};
    batch.profiles[0].time_ns += static_cast<std::uint64_t>(number) * kNsPerSecond;
    entry.payload = std::make_shared<const std::string>();
    return entry;
  };
  Open();
  ASSERT_TRUE(AppendNow(*queue_, reading(1, 100)));
  EXPECT_FALSE(AppendNow(*queue_, reading(2, 130))) << "the queue is full";
  EXPECT_EQ(Drain(1), std::vector<std::int64_t>{100});
  ASSERT_TRUE(AppendNow(*queue_, reading(2, 130)));
  EXPECT_TRUE(AppendNow(*queue_, reading(2, 130))->repeated);
  EXPECT_EQ(Drain(1), std::vector<std::int64_t>{30}) << "a refusal moves no base";
  ASSERT_TRUE(AppendNow(*queue_, reading(3, 130))) << "nothing grew, nothing is sent";
  EXPECT_EQ(queue_->figures().requests, 0u);
  Abandon();
  Open();
  ASSERT_TRUE(AppendNow(*queue_, reading(4, 150)));
  EXPECT_EQ(Drain(1), std::vector<std::int64_t>{20}) << "the base is in the log";
  // Its segment goes; the base stays.
  Abandon();
  Open();
  const std::int64_t end = MonotonicNs() + 10 * kNsPerSecond;
  while (Files(".log").size() > 1) ASSERT_LT(MonotonicNs(), end);
  Abandon();
  Open();
  ASSERT_TRUE(AppendNow(*queue_, reading(5, 157)));
  EXPECT_EQ(Drain(1), std::vector<std::int64_t>{7}) << "the base is in its file";
}

TEST_F(QueueTest, AFullDiskRefusesDrainsAndHeals) {
  if (mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=24m") != 0)
    GTEST_SKIP() << "needs the right to mount a tmpfs";
  struct Unmount {
    std::string path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } const unmount{directory_.path()};
  Open();
  int queued = 0;
  Answer answer = AppendNow(*queue_, EntryOf(0, {}, 1u << 20));
  for (; answer && queued < 100; answer = AppendNow(*queue_, EntryOf(queued, {}, 1u << 20)))
    ++queued;
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnavailable) << answer.error().message();
  EXPECT_FALSE(queue_->figures().write_error.empty());
  const auto fill = [&](const std::string& name) {
    std::ofstream(directory_ / name) << std::string(24u << 20, 'x');  // to the last byte
    ASSERT_EQ(std::filesystem::space(directory_.path()).available, 0u);
  };
  ASSERT_GT(queued, 12);
  fill("one");
  EXPECT_EQ(Drain(2).size(), 2u) << "from the reserve";
  fill("two");
  EXPECT_EQ(Drain(2).size(), 2u) << "without any room";
  Abandon();
  Open();
  EXPECT_GE(queue_->figures().requests, static_cast<std::uint64_t>(queued - 4));
  Drain(queue_->figures().requests);
  EXPECT_EQ(queue_->figures().requests, 0u);
  const std::int64_t end = MonotonicNs() + 20 * kNsPerSecond;
  while (!AppendNow(*queue_, EntryOf(1000, {}, 1u << 20))) ASSERT_LT(MonotonicNs(), end);
  EXPECT_TRUE(queue_->figures().write_error.empty());
}

}  // namespace
}  // namespace wherefore::gateway
