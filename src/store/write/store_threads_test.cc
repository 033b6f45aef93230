// The store without the engine: threads, retries and tokens against a transport that only counts.
// Runs under sanitizers.
#include <atomic>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "base/test_directory.h"
#include "store/engine/native.h"
#include "store/store_impl.h"
#include "store/test_batch.h"

namespace wherefore::store {
namespace {

// What reached the "engine"; shared with the test because the store owns the transport.
struct Received {
  Mutex mutex;
  std::map<std::string, std::string> blocks GUARDED_BY(mutex);  // by token
  std::map<std::string, std::uint64_t> rows GUARDED_BY(mutex);  // by table
  std::vector<std::string> order GUARDED_BY(mutex);             // tables, as they came
  int failures_left GUARDED_BY(mutex) = 0;
};

class CountingTransport final : public Transport {
 public:
  explicit CountingTransport(std::shared_ptr<Received> received) : received_(std::move(received)) {}
  Result<std::string> Query(std::string_view, const QueryLimits&, const CancelToken&) override {
    return std::string();
  }
  Result<> Execute(std::string_view, const Settings&) override { return {}; }
  Result<> Insert(std::string_view table, std::string_view block, std::string_view token) override {
    MutexLock lock(received_->mutex);
    const auto [entry, added] = received_->blocks.try_emplace(std::string(token), block);
    EXPECT_EQ(entry->second, block) << "token " << token << " came with other bytes";
    if (added) {
      const std::size_t columns = static_cast<std::uint8_t>(block[0]);
      const auto parsed = NativeResult::Parse(block, columns);
      EXPECT_TRUE(parsed) << parsed.error().message();
      for (const NativeBlock& one : parsed->blocks) received_->rows[std::string(table)] += one.rows;
      received_->order.emplace_back(table);
    }
    // Failing after the rows were taken is the worst case: the answer is lost, the rows are there.
    if (received_->failures_left > 0) {
      --received_->failures_left;
      return Error(Code::kUnavailable, "engine: Code: 243. not enough space");
    }
    return {};
  }
  [[nodiscard]] ServerVersion version() const override { return 26'007; }

 private:
  std::shared_ptr<Received> received_;
};

class StoreThreads : public testing::Test {
 protected:
  void Open() {
    store_ = std::make_unique<StoreImpl>(StoreOptions{
        .directory = directory_ / "data", .flush_interval_ns = 1'000'000, .flush_bytes = 20'000});
    const auto started = store_->Start(std::make_unique<CountingTransport>(received_));
    ASSERT_TRUE(started) << started.error().message();
  }
  std::uint64_t RowsOf(const std::string& table) {
    MutexLock lock(received_->mutex);
    return received_->rows[table];
  }
  static profile::WriteRequest Request(int number) {
    BatchBuilder batch;
    batch.Add({.time_ns = NowUnixNs()},
              {{{"f" + std::to_string(number % 50), "main"}, 1}, {{"main"}, 2}});
    return batch.Request("request " + std::to_string(number));
  }

  TestDirectory directory_;
  std::shared_ptr<Received> received_ = std::make_shared<Received>();
  std::unique_ptr<StoreImpl> store_;
};

TEST_F(StoreThreads, ManySendersEachSampleOnce) {
  Open();
  std::vector<std::thread> senders;
  senders.reserve(4);
  std::atomic<int> repeated{0};
  for (int sender = 0; sender < 4; ++sender) {
    senders.emplace_back([&, sender] {
      for (int i = 0; i < 100; ++i) {
        // Every request is sent by two of the senders.
        const auto answer = WriteNow(*store_, Request(sender / 2 * 100 + i));
        ASSERT_TRUE(answer);
        if (answer->repeated) ++repeated;
        if (i % 25 == 0) {
          EXPECT_TRUE(store_->Flush());
        }
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  ASSERT_TRUE(store_->Flush());
  EXPECT_EQ(repeated, 200);
  EXPECT_EQ(RowsOf("profiles_v1"), 200u);
  EXPECT_EQ(RowsOf("samples_v1"), 400u);
  EXPECT_EQ(RowsOf("stacks_v1"), 51u) << "every name gets its row exactly once";
  EXPECT_EQ(RowsOf("services_v1"), 1u);
}

TEST_F(StoreThreads, AFailedInsertIsRepeatedWithTheSameBytes) {
  Open();
  {
    MutexLock lock(received_->mutex);
    received_->failures_left = 3;
  }
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(WriteNow(*store_, Request(i)));
  // The first attempts fail; each next one begins the segment anew.
  int failed = 0;
  while (failed < 100 && !store_->Flush()) ++failed;
  EXPECT_EQ(RowsOf("samples_v1"), 40u);
  EXPECT_EQ(store_->NotReadyReason(), "");
}

TEST_F(StoreThreads, NamesComeBeforeWhatRefersToThem) {
  Open();
  ASSERT_TRUE(WriteNow(*store_, Request(1)));
  ASSERT_TRUE(store_->Flush());
  MutexLock lock(received_->mutex);
  EXPECT_EQ(received_->order, (std::vector<std::string>{"services_v1", "types_v1", "series_v1",
                                                        "mappings_v1", "functions_v1", "frames_v1",
                                                        "stacks_v1", "profiles_v1", "samples_v1"}));
}

TEST_F(StoreThreads, ClosingStoresWhatWasAcknowledged) {
  Open();
  std::atomic<int> stored{0};
  for (int i = 0; i < 50; ++i) {
    store_->Write(Request(i),
                  [&](const Result<profile::WriteAnswer>& answer) { stored += answer ? 1 : 0; });
  }
  store_.reset();
  EXPECT_EQ(stored, 50);
  EXPECT_EQ(RowsOf("profiles_v1"), 50u);
}

}  // namespace
}  // namespace wherefore::store
