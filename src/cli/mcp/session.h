// McpSession: one conversation of the Model Context Protocol over lines of text, in both eras: with
// a handshake (2024-11-05 to 2025-11-25) and without (2026-07-28).
//
// Take() is called by one thread, line by line. Calls of tools run on threads of the session's own,
// a few at once; answers are written as they come, each with one call of `write`, from any thread,
// never two at once. What is cancelled gets no answer. The destructor waits for calls that run.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/cancel.h"
#include "base/mutex.h"
#include "cli/json.h"
#include "cli/mcp/tools.h"

namespace wherefore::cli {

class McpSession {
 public:
  // `write` gets a whole line without its end.
  McpSession(std::string version, AskApi ask, std::function<void(std::string_view line)> write);
  ~McpSession();
  McpSession(const McpSession&) = delete;
  McpSession& operator=(const McpSession&) = delete;

  void Take(std::string_view line);

 private:
  struct Call {
    std::string id;  // as JSON
    const Tool* tool = nullptr;
    std::string arguments;  // as JSON; empty: none
    bool stateless = false;
    CancelToken cancel;
  };

  void TakeMessage(const JsonValue& message);
  void TakeRequest(std::string_view method, const JsonValue& message, const std::string& id);
  // False: it was answered with an error.
  bool CheckEra(const JsonLookup& parameters, const std::string& id, bool& stateless);
  void Initialize(const JsonLookup& parameters, const std::string& id);
  void Discover(const std::string& id);
  void ListTools(const std::string& id, bool stateless);
  void BeginCall(const JsonLookup& parameters, const std::string& id, bool stateless);
  void CancelCall(const JsonLookup& parameters);

  void RunCalls() EXCLUDES(mutex_);
  void Answer(const Call& call);

  void WriteResult(const std::string& id, std::string_view result) EXCLUDES(write_mutex_);
  void WriteError(const std::string& id, int code, std::string_view message,
                  std::string_view data = {}) EXCLUDES(write_mutex_);
  void WriteLine(std::string_view line) EXCLUDES(write_mutex_);

  const std::string version_;
  const AskApi ask_;
  const std::function<void(std::string_view)> write_;
  simdjson::dom::parser parser_;
  bool initialized_ = false;

  Mutex write_mutex_;
  Mutex mutex_;
  CondVar waiting_;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::deque<Call> queue_ GUARDED_BY(mutex_);
  std::map<std::string, CancelToken> running_ GUARDED_BY(mutex_);  // by id, queued ones too
  std::vector<std::thread> threads_;
};

}  // namespace wherefore::cli
