// inventory: reserves goods under one lock for everything, and waits for a slow warehouse.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <wherefore/tracer.h>

#include "http.h"
#include "services.h"

namespace demo {
namespace {

// The dependency that is slow: somebody else's machine.
[[gnu::noinline]] void AskWarehouse() {
  const wherefore::Span span("ask-warehouse", wherefore::SpanKind::kClient);
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
}

class Stock {
 public:
  Stock() : counts_(4096, 1'000'000) {}

  // The lock is held until the checksum of the whole stock is up to date and the warehouse has
  // answered: longer than it need be.
  [[gnu::noinline]] std::uint64_t Reserve(std::size_t lines) {
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i < lines; ++i) --counts_[(next_ += 61) % counts_.size()];
    AskWarehouse();
    return Checksum();
  }

 private:
  [[gnu::noinline]] std::uint64_t Checksum() const {
    std::uint64_t sum = 0;
    for (int round = 0; round < 100; ++round) {
      for (const std::uint32_t count : counts_) sum = (sum * 31) + count;
    }
    return sum;
  }

  std::mutex lock_;
  std::vector<std::uint32_t> counts_;
  std::size_t next_ = 0;
};

Response Handle(Stock& stock, const Request& request) {
  wherefore::Span span("reserve-stock", wherefore::SpanKind::kServer,
                       wherefore::Extract(request.traceparent));
  const std::uint64_t checksum = stock.Reserve(std::strtoul(request.body.c_str(), nullptr, 10));
  return {.status = 200, .body = std::to_string(checksum)};
}

}  // namespace

bool RunInventory(const Ports& ports) {
  static Stock stock;
  return Serve(ports.inventory, [](const Request& request) { return Handle(stock, request); });
}

}  // namespace demo
