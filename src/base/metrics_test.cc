#include "base/metrics.h"

#include <gtest/gtest.h>

namespace wherefore {
namespace {

TEST(Metrics, PrintsFamiliesInPrometheusForm) {
  Metrics metrics;
  metrics.GetCounter("wherefore_requests_total", "Requests.", {{"signal", "pro\"files"}}).Add(3);
  metrics.GetCounter("wherefore_requests_total", "Requests.", {{"signal", "pro\"files"}}).Add(1);
  metrics.GetHistogram("wherefore_commit_seconds", "Commit.").ObserveNs(2'000'000);
  metrics.SetCallback("wherefore_memory_bytes", "Memory.", [] { return 7.0; });
  const std::string text = metrics.PrometheusText();
  EXPECT_NE(text.find("wherefore_requests_total{signal=\"pro\\\"files\"} 4\n"), std::string::npos);
  EXPECT_NE(text.find("wherefore_commit_seconds_bucket{le=\"0.003\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("wherefore_commit_seconds_bucket{le=\"0.001\"} 0\n"), std::string::npos);
  EXPECT_NE(text.find("wherefore_memory_bytes 7\n"), std::string::npos);
}

TEST(Metrics, ReadsOwnMemory) {
  EXPECT_GT(ReadProcessMemory().resident_bytes, 0);
}

}  // namespace
}  // namespace wherefore
