// The tools that an assistant may call: each asks the server's API, changes nothing, and answers
// with an object small enough for a conversation.
//
// The table is constant; Call() may run on several threads at once. Failure: an argument that is
// wrong, or what the server said.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "cli/json.h"
#include "cli/source.h"

namespace wherefore::cli {

// Of the text and of the structured form together.
inline constexpr std::size_t kMostToolBytes = 20'000;

enum class ArgumentType : std::uint8_t { kText, kInteger, kFlag, kTexts };

struct Argument {
  std::string_view name;
  ArgumentType type = ArgumentType::kText;
  std::string_view description;
  bool required = false;
};

using ToolParameters = std::vector<std::pair<std::string, std::string>>;
// GET of a path of the API.
using AskApi = std::function<Result<Answer>(const std::string& path, const ToolParameters&,
                                            const CancelToken&)>;

// One call, on one thread.
class ToolCall {
 public:
  // `arguments` were checked; lists stand in it once for each item.
  ToolCall(const AskApi& ask, const CancelToken& cancel, ToolParameters arguments)
      : ask_(ask), cancel_(cancel), arguments_(std::move(arguments)) {}

  Result<std::string> Ask(const std::string& path, const ToolParameters& parameters);
  // What stored data the answers lack.
  [[nodiscard]] const std::string& incomplete() const { return incomplete_; }
  // Empty if it was not given.
  [[nodiscard]] std::string Get(std::string_view name) const;
  // All but those named, as parameters of the API.
  [[nodiscard]] ToolParameters Without(std::initializer_list<std::string_view> names) const;

 private:
  const AskApi& ask_;
  const CancelToken& cancel_;
  const ToolParameters arguments_;
  std::string incomplete_;
};

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::span<const Argument> arguments;
  Result<std::string> (*run)(ToolCall& call);  // an object as JSON
};

[[nodiscard]] std::span<const Tool> Tools();
[[nodiscard]] const Tool* FindTool(std::string_view name);
// JSON Schema of its arguments.
[[nodiscard]] std::string InputSchema(const Tool& tool);

// `arguments`: an object, or nothing.
[[nodiscard]] Result<std::string> CallTool(const Tool& tool, const JsonLookup& arguments,
                                           const AskApi& ask, const CancelToken& cancel);
// Both forms of an answer, as they are sent: is that short enough?
[[nodiscard]] bool FitsTool(std::string_view object);

}  // namespace wherefore::cli
