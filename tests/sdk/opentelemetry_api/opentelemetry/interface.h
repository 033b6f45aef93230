// A stand-in for the part of opentelemetry-cpp's API that include/wherefore/opentelemetry.h uses,
// with its nostd types mapped to std as that library's own STL option does. Debian does not package
// opentelemetry-cpp; this keeps the adapter compiled and its behaviour tested. Names and signatures
// are the API's, the rest is the least that works.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace opentelemetry {

namespace nostd {
using std::get;
using std::holds_alternative;
using std::shared_ptr;
using std::string_view;
using std::unique_ptr;
using std::variant;
}  // namespace nostd

namespace trace {
template <std::size_t N>
class IdOf {
 public:
  IdOf() = default;
  explicit IdOf(std::array<std::uint8_t, N> bytes) : bytes_(bytes) {}
  [[nodiscard]] const std::array<std::uint8_t, N>& Id() const noexcept { return bytes_; }
  [[nodiscard]] bool IsValid() const noexcept { return bytes_ != std::array<std::uint8_t, N>{}; }

 private:
  std::array<std::uint8_t, N> bytes_{};
};
using TraceId = IdOf<16>;
using SpanId = IdOf<8>;

class TraceFlags {
 public:
  explicit TraceFlags(std::uint8_t flags) : flags_(flags) {}
  [[nodiscard]] std::uint8_t flags() const noexcept { return flags_; }

 private:
  std::uint8_t flags_;
};

class SpanContext {
 public:
  SpanContext(TraceId trace, SpanId span, TraceFlags flags)
      : trace_(trace), span_(span), flags_(flags) {}
  [[nodiscard]] bool IsValid() const noexcept { return trace_.IsValid() && span_.IsValid(); }
  [[nodiscard]] const TraceId& trace_id() const noexcept { return trace_; }
  [[nodiscard]] const SpanId& span_id() const noexcept { return span_; }
  [[nodiscard]] const TraceFlags& trace_flags() const noexcept { return flags_; }

 private:
  TraceId trace_;
  SpanId span_;
  TraceFlags flags_;
};

class Span {
 public:
  virtual ~Span() = default;
  [[nodiscard]] virtual SpanContext GetContext() const noexcept = 0;
};
constexpr char kSpanKey[] = "active_span";
}  // namespace trace

namespace context {
using ContextValue =
    nostd::variant<std::monostate, bool, std::int64_t, nostd::shared_ptr<trace::Span>>;

class Context {
 public:
  [[nodiscard]] ContextValue GetValue(nostd::string_view key) const noexcept {
    const auto found = values_.find(std::string(key));
    return found == values_.end() ? ContextValue() : found->second;
  }
  [[nodiscard]] Context SetValue(nostd::string_view key, ContextValue value) const noexcept {
    Context out = *this;
    out.values_[std::string(key)] = std::move(value);
    out.number_ = ++last_number_;
    return out;
  }
  bool operator==(const Context& other) const noexcept { return number_ == other.number_; }

 private:
  inline static int last_number_ = 0;
  int number_ = 0;
  std::map<std::string, ContextValue> values_;
};

class Token {
 public:
  bool operator==(const Context& other) const noexcept { return context_ == other; }
  ~Token();

 private:
  friend class RuntimeContextStorage;
  explicit Token(const Context& context) : context_(context) {}
  const Context context_;
};

class RuntimeContextStorage {
 public:
  virtual Context GetCurrent() noexcept = 0;
  virtual nostd::unique_ptr<Token> Attach(const Context& context) noexcept = 0;
  virtual bool Detach(Token& token) noexcept = 0;
  virtual ~RuntimeContextStorage() = default;

 protected:
  nostd::unique_ptr<Token> CreateToken(const Context& context) noexcept {
    return nostd::unique_ptr<Token>(new Token(context));
  }
};

class ThreadLocalContextStorage : public RuntimeContextStorage {
 public:
  Context GetCurrent() noexcept override { return Stack().empty() ? Context() : Stack().back(); }
  nostd::unique_ptr<Token> Attach(const Context& context) noexcept override {
    Stack().push_back(context);
    return CreateToken(context);
  }
  bool Detach(Token& token) noexcept override {
    while (!Stack().empty()) {
      const bool found = token == Stack().back();
      Stack().pop_back();
      if (found) return true;
    }
    return false;
  }

 private:
  static std::vector<Context>& Stack() {
    static thread_local std::vector<Context> stack;
    return stack;
  }
};

class RuntimeContext {
 public:
  static nostd::unique_ptr<Token> Attach(const Context& context) noexcept {
    return Storage()->Attach(context);
  }
  static bool Detach(Token& token) noexcept { return Storage()->Detach(token); }
  static Context GetCurrent() noexcept { return Storage()->GetCurrent(); }
  static void SetRuntimeContextStorage(nostd::shared_ptr<RuntimeContextStorage> storage) noexcept {
    Storage() = std::move(storage);
  }

 private:
  static nostd::shared_ptr<RuntimeContextStorage>& Storage() noexcept {
    static nostd::shared_ptr<RuntimeContextStorage> storage(new ThreadLocalContextStorage());
    return storage;
  }
};

inline Token::~Token() {
  RuntimeContext::Detach(*this);
}
}  // namespace context
}  // namespace opentelemetry
