// LineTable: self and total per source line of chosen functions, summed stack by stack.
//
// For each stack, leaf first: BeginStack(value), then Add() for every line of every frame. A
// function or line that recurs in a stack counts once in its total. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/frame_name.h"

namespace wherefore::profile {

struct ListedLine {
  std::int64_t line = 0;  // 0: not known
  std::int64_t self = 0;
  std::int64_t total = 0;
};

struct ListedFunction {
  std::string name;
  std::string module;
  std::string file;
  std::int64_t start_line = 0;
  std::int64_t self = 0;
  std::int64_t total = 0;
  std::vector<ListedLine> lines;  // by line number
};

class LineTable {
 public:
  static constexpr std::size_t kNotWanted = SIZE_MAX;

  explicit LineTable(std::function<bool(const FlameFunction& function)> wanted)
      : wanted_(std::move(wanted)) {}

  // The index of a function for Add(), or kNotWanted. Cache it: naming a frame is expensive.
  [[nodiscard]] std::size_t Function(const FrameFacts& facts);
  void BeginStack(std::int64_t value);
  // The next line towards the root; kNotWanted is allowed.
  void Add(std::size_t function, std::int64_t line);

  // Largest total first. The table is empty afterwards.
  [[nodiscard]] std::vector<ListedFunction> Take();

 private:
  struct Entry {
    ListedFunction listed;
    std::map<std::int64_t, ListedLine> lines;
    std::uint64_t last_stack = 0;  // the last stack it was counted for
    std::map<std::int64_t, std::uint64_t> last_stack_of_line;
  };

  std::function<bool(const FlameFunction&)> wanted_;
  std::vector<Entry> entries_;
  // (name, module, file): two modules may each have a function of the same name.
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> ids_;
  std::uint64_t stack_ = 0;
  std::int64_t value_ = 0;
  bool leaf_ = true;
};

}  // namespace wherefore::profile
