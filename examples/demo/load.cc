// The customers of the demo.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "http.h"
#include "services.h"

namespace demo {
namespace {

constexpr int kCustomers = 4;

std::string Order(unsigned number) {
  std::string body = R"({"customer":")" + std::string(40, 'c') + R"(","lines":[)";
  const unsigned lines = 700 + (number * 37 % 600);
  for (unsigned i = 0; i < lines; ++i) {
    if (i > 0) body += ',';
    body += R"({"product":"product-)" + std::to_string(number % 100) + '-' + std::to_string(i) +
            R"(","quantity":)" + std::to_string(1 + (i % 9)) + R"(,"note":")" +
            std::string(60 + (i % 7 * 20), static_cast<char>('a' + (i % 26))) + R"("})";
  }
  return body + "]}";
}

}  // namespace

int RunLoad(const Ports& ports, double rate, int seconds) {
  using Clock = std::chrono::steady_clock;
  const auto between =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kCustomers / rate));
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  std::atomic<int> failed{0};
  std::vector<std::thread> customers;
  customers.reserve(kCustomers);
  for (unsigned customer = 0; customer < kCustomers; ++customer) {
    customers.emplace_back([&, customer] {
      auto next = Clock::now();
      for (unsigned number = customer; seconds == 0 || Clock::now() < end; number += kCustomers) {
        if (Call(ports.storefront, {.path = "/orders", .traceparent = {}, .body = Order(number)})
                .status != 200)
          ++failed;
        std::this_thread::sleep_until(next += between);
      }
    });
  }
  for (std::thread& customer : customers) customer.join();
  return failed;
}

}  // namespace demo
