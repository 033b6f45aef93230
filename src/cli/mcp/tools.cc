// Calls of tools: their arguments, and what holds for every answer. The tools are in
// tool_table.cc.
#include "cli/mcp/tools.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_writer.h"

namespace wherefore::cli {
namespace {

using enum ArgumentType;

constexpr std::size_t kMostIncomplete = 400;  // bytes of what stored data an answer lacks

std::string_view TypeName(ArgumentType type) {
  switch (type) {
    case kText:
      return "string";
    case kInteger:
      return "integer";
    case kFlag:
      return "boolean";
    case kTexts:
      break;
  }
  return "array";
}

Error Wrong(const Argument& argument) {
  return {Code::kInvalid,
          fmt::format("argument '{}': expected {}", argument.name,
                      argument.type == kTexts ? "an array of strings" : TypeName(argument.type))};
}

Result<> Read(const Argument& argument, const JsonValue& value, ToolParameters& parameters) {
  const std::string name(argument.name);
  std::string_view text;
  std::int64_t number = 0;
  bool flag = false;
  simdjson::dom::array items;
  switch (argument.type) {
    case kText:
      if (value.get(text) != simdjson::SUCCESS) return Wrong(argument);
      parameters.emplace_back(name, text);
      return {};
    case kInteger:
      if (value.get(number) != simdjson::SUCCESS) return Wrong(argument);
      parameters.emplace_back(name, fmt::format("{}", number));
      return {};
    case kFlag:
      if (value.get(flag) != simdjson::SUCCESS) return Wrong(argument);
      parameters.emplace_back(name, flag ? "true" : "false");
      return {};
    case kTexts:
      if (value.get(items) != simdjson::SUCCESS) return Wrong(argument);
      for (const JsonValue& item : items) {
        if (item.get(text) != simdjson::SUCCESS) return Wrong(argument);
        parameters.emplace_back(name, text);
      }
  }
  return {};
}

Result<ToolParameters> ReadArguments(const Tool& tool, const JsonLookup& arguments) {
  ToolParameters parameters;
  std::set<std::string_view> given;
  simdjson::dom::object object;
  const bool any = arguments.error() == simdjson::SUCCESS && !arguments.is_null();
  if (any && arguments.get(object) != simdjson::SUCCESS)
    return Error(Code::kInvalid, "'arguments' must be an object");
  if (any) {
    for (const auto& [key, value] : object) {
      const auto found = std::ranges::find(tool.arguments, key, &Argument::name);
      if (found == tool.arguments.end()) {
        std::vector<std::string_view> names;
        for (const Argument& argument : tool.arguments) names.push_back(argument.name);
        return Error(Code::kInvalid, fmt::format("no argument '{}'; {} has {}", key, tool.name,
                                                 fmt::join(names, ", ")));
      }
      WHEREFORE_RETURN_IF_ERROR(Read(*found, value, parameters));
      given.insert(found->name);
    }
  }
  for (const Argument& argument : tool.arguments) {
    if (argument.required && !given.contains(argument.name))
      return Error(Code::kInvalid, fmt::format("argument '{}' is missing", argument.name));
  }
  return parameters;
}

}  // namespace

Result<std::string> ToolCall::Ask(const std::string& path, const ToolParameters& parameters) {
  WHEREFORE_ASSIGN_OR_RETURN(Answer answer, ask_(path, parameters, cancel_));
  if (!answer.incomplete.empty()) incomplete_ = answer.incomplete.substr(0, kMostIncomplete);
  return std::move(answer.body);
}

std::string ToolCall::Get(std::string_view name) const {
  const auto found = std::ranges::find(arguments_, name,
                                       [](const auto& a) -> std::string_view { return a.first; });
  return found == arguments_.end() ? std::string() : found->second;
}

ToolParameters ToolCall::Without(std::initializer_list<std::string_view> names) const {
  ToolParameters out;
  for (const auto& argument : arguments_) {
    if (std::ranges::find(names, std::string_view(argument.first)) == names.end())
      out.push_back(argument);
  }
  return out;
}

std::string InputSchema(const Tool& tool) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("type", "object").Key("properties").BeginObject();
  for (const Argument& argument : tool.arguments) {
    json.Key(argument.name).BeginObject().Field("type", TypeName(argument.type));
    if (argument.type == kTexts)
      json.Key("items").BeginObject().Field("type", "string").EndObject();
    json.Field("description", argument.description).EndObject();
  }
  json.EndObject().Key("required").BeginArray();
  for (const Argument& argument : tool.arguments) {
    if (argument.required) json.String(argument.name);
  }
  json.EndArray().Field("additionalProperties", false).EndObject();
  return out;
}

bool FitsTool(std::string_view object) {
  std::string quoted;
  AppendJsonString(quoted, object);
  constexpr std::size_t kAround = 300 + 2 * kMostIncomplete;  // of the message
  return object.size() + quoted.size() + kAround <= kMostToolBytes;
}

Result<std::string> CallTool(const Tool& tool, const JsonLookup& arguments, const AskApi& ask,
                             const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(ToolParameters read, ReadArguments(tool, arguments));
  ToolCall call(ask, cancel, std::move(read));
  WHEREFORE_ASSIGN_OR_RETURN(std::string object, tool.run(call));
  if (call.incomplete().empty()) return object;
  object.pop_back();
  object += object.size() > 1 ? R"(,"incomplete":)" : R"("incomplete":)";
  AppendJsonString(object, call.incomplete());
  return object + "}";
}

}  // namespace wherefore::cli
