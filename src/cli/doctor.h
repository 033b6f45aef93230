// The report of `doctor`, and its part about libwherefore. One thread.
#pragma once

#include <string>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/command.h"

namespace wherefore::cli {

// Prints one line per finding, or one JSON document at the end.
class Report {
 public:
  explicit Report(bool json) : json_(json) {
    if (json_) writer_.BeginObject().Key("checks").BeginArray();
  }
  void Good(const std::string& what) { Line("ok", what, ""); }
  void Bad(const std::string& what, const std::string& fix) {
    ++problems_;
    Line("problem", what, fix);
  }
  int Finish() {
    if (json_) {
      writer_.EndArray().Field("problems", problems_).EndObject();
      fmt::print("{}\n", document_);
    } else {
      fmt::print("{}\n", problems_ == 0
                             ? "nothing wrong found"
                             : fmt::format("{} problem{}", problems_, problems_ == 1 ? "" : "s"));
    }
    return problems_ == 0 ? kFine : kFound;
  }

 private:
  void Line(const char* state, const std::string& what, const std::string& fix) {
    if (json_) {
      writer_.BeginObject().Field("state", state).Field("what", what).Field("fix", fix).EndObject();
    } else if (fix.empty()) {
      fmt::print("ok       {}\n", what);
    } else {
      fmt::print("PROBLEM  {}\n         -> {}\n", what, fix);
    }
  }
  bool json_;
  int problems_ = 0;
  std::string document_;  // JSON, printed at the end
  JsonWriter writer_{document_};
};

struct SdkOptions {
  std::string library;  // "": next to this program
  std::string program;  // "": no particular one
};
// What libwherefore can and cannot do on this machine, in this environment and in that program.
// Starts this program once with the library preloaded, and asks the library.
void CheckSdk(const SdkOptions& options, Report& report);

// `wherefore sdk-probe`: what CheckSdk starts. Prints what the preloaded library reports about
// itself.
inline constexpr const char* kSdkProbe = "sdk-probe";
int RunSdkProbe();

}  // namespace wherefore::cli
