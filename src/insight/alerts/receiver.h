// A receiver and the thread that tells it. Internal to Alerts.
#pragma once

#include <string>
#include <thread>

#include "insight/alerts/alerts.h"

namespace wherefore::insight {

struct Alerts::Receiver {
  AlertReceiver config;
  std::string id;
  CancelToken cancel;
  std::thread thread;
  // Of the thread alone.
  std::int64_t repeated_ns = 0;  // when all that fires was told the last time
  int failures = 0;              // in a row
  // Under Alerts::mutex_.
  bool stopping = false;
  std::string problem;
  std::int64_t told_ns = 0;
};

// What a state's event is to receivers; of firing and resolved ones.
[[nodiscard]] Notice NoticeOf(const store::AlertEvent& event);

}  // namespace wherefore::insight
