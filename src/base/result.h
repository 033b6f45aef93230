// Result<T>: a value, or the reason there is none.
//
// std::expected with two additions: ignoring one is a compiler warning (an error in our builds),
// and a function may simply `return Error(...)`. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace wherefore {

// What the caller can do about it; the message says where it happened. src/net maps codes to
// statuses, once per protocol: HTTP (http.cc), gRPC (grpc.cc), Connect (unary.cc).
enum class Code : std::uint8_t {
  kInvalid,          // the request is wrong; sending it again will not help
  kCorrupt,          // bytes that cannot be decoded
  kNotFound,         // no such thing
  kIo,               // the disk or the network failed
  kLimit,            // a limit was exceeded; a smaller request may work
  kUnavailable,      // not now; try again later
  kUnsupported,      // not implemented
  kCancelled,        // the caller went away or asked to stop
  kUnauthenticated,  // credentials are missing or wrong
  kInternal          // a bug in Wherefore
};

[[nodiscard]] std::string_view CodeName(Code code);

class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  // An error at one place of the input: "samples[7].stack_index: 12 is outside the table".
  static Error At(Code code, std::string_view place, std::string_view what) {
    Error error(code, std::string(place).append(": ").append(what));
    error.place_size_ = place.size();
    return error;
  }

  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  // The place given to At(), as it appears in the message; empty if there was none.
  [[nodiscard]] std::string_view place() const {
    return std::string_view(message_).substr(place_at_, place_size_);
  }

  // Adds context in front: "open store: write-ahead log: checksum mismatch".
  Error Within(std::string_view what) && {
    message_.insert(0, ": ").insert(0, what);
    place_at_ += what.size() + 2;
    return std::move(*this);
  }

 private:
  Code code_;
  std::string message_;
  std::size_t place_at_ = 0;  // offset in the message
  std::size_t place_size_ = 0;
};

template <typename T = void>
class [[nodiscard]] Result : public std::expected<T, Error> {
  using Base = std::expected<T, Error>;

 public:
  using Base::Base;
  // NOLINTNEXTLINE(google-explicit-constructor): so that a function can return an Error
  Result(Error error) : Base(std::unexpect, std::move(error)) {}
};

}  // namespace wherefore

#define WHEREFORE_CONCAT_INNER(a, b) a##b
#define WHEREFORE_CONCAT(a, b) WHEREFORE_CONCAT_INNER(a, b)

#define WHEREFORE_RETURN_IF_ERROR(expr)                      \
  do {                                                       \
    if (auto wherefore_result = (expr); !wherefore_result) { \
      return std::move(wherefore_result).error();            \
    }                                                        \
  } while (0)

// NOLINTBEGIN(bugprone-macro-parentheses): lhs may be a declaration
// Declares or assigns `lhs`. Not for use as the lone body of an `if`.
#define WHEREFORE_ASSIGN_OR_RETURN(lhs, expr) \
  WHEREFORE_ASSIGN_INNER(WHEREFORE_CONCAT(wherefore_result_, __LINE__), lhs, expr)
#define WHEREFORE_ASSIGN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                           \
  if (!tmp) return std::move(tmp).error();     \
  lhs = *std::move(tmp)
// NOLINTEND(bugprone-macro-parentheses)
