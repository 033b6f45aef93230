#include "query/own_code.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include "query/selector.h"

namespace wherefore::query {
namespace {

using profile::FlameFunction;

struct Default {
  std::string_view kind;
  std::string_view regex;
};

// Files that code is loaded from.
constexpr std::array kModules = {
    Default{"kernel", R"(^\[(kernel|vdso|vsyscall)|^linux-(vdso|gate))"},
    Default{"profiler", R"(^libwherefore|^libasyncProfiler|pyroscope)"},
    Default{"libc",
            R"(^(libc[-.]|libpthread|ld-linux|ld-musl|libm[-.]|libgcc_s|librt[-.]|libdl[-.]))"},
    Default{"libc", R"(^(libjemalloc|libtcmalloc|libmimalloc))"},
    Default{"std", R"(^(libstdc\+\+|libc\+\+))"},
    Default{
        "runtime",
        R"(^(libjvm|libjava|libjli|libnio|libnet|libzip)\.so|^libnode|^libpython|^libruby|^libcoreclr|^libclrjit)"},
    // A library with a version in its file's name comes from a distribution.
    Default{"library", R"(^lib.*\.so\.[0-9])"},
};

// Names, without what a template returns. Go's own packages have no dot before the first slash.
constexpr std::array kNames = {
    Default{"profiler", R"(^\[wherefore)"},
    Default{
        "profiler",
        R"(^wherefore(::(sdk|Profiler|Span|SpanScope|LabelScope|ContextScope|SavedContext|BoundFunction)\b|_))"},
    Default{
        "profiler",
        R"(^(github\.com/grafana/(pyroscope-go|otel-profiling-go)|runtime/pprof|net/http/pprof|one[./]profiler|io[./](pyroscope|otel\.pyroscope)|pyroscope|pprof::|pprof_util))"},
    Default{
        "std",
        R"(^(std|__gnu_cxx|__cxxabiv1|__gnu_debug)::|^operator (new|delete)|^(__cxa_|_Unwind_|__gxx_|__gthread_))"},
    Default{"std", R"(^(<?[&*]*(mut |dyn )*)?(core|alloc|hashbrown)::)"},
    Default{"std", R"(^<?[&*]*(mut |dyn )*std::)"},
    Default{
        "libc",
        R"(^(_start|__libc_\w+|__GI_\w+|start_thread|clone3?|__clone3?|_dl_\w+|__restore_rt|__pthread_\w+|_IO_\w+)$)"},
    Default{"runtime",
            R"(^(runtime|syscall|unsafe)(/[\w/]+)?\.|^(internal|vendor)/|^(gogo|_rt0_\w+)$)"},
    Default{
        "std",
        R"(^(archive|bufio|bytes|cmp|compress|container|context|crypto|database|debug|embed|encoding|errors|expvar|flag|fmt|go|hash|html|image|index|io|iter|log|maps|math|mime|net|os|path|plugin|reflect|regexp|slices|sort|strconv|strings|structs|sync|testing|text|time|unicode|unique)(/[\w/]+)?\.(\(\*?\w+(\[.*\])?\)\.)?[A-Za-z]\w*(\.\w+)?(\.func\d+(\.\d+)*)?(-fm)?$)"},
    Default{
        "library",
        R"(^(golang\.org/x|google\.golang\.org|go\.opentelemetry\.io|go\.uber\.org|gopkg\.in|k8s\.io|gorm\.io|github\.com/(prometheus|gin-gonic|gorilla|labstack|jackc|lib|go-sql-driver|redis|go-redis|sirupsen|json-iterator|klauspost|valyala|gofiber|go-chi|jmoiron|golang|google|aws))/)"},
    Default{"runtime", R"(^(rust_begin_unwind|__rust_\w+|_ZN.*E$|lang_start))"},
    Default{
        "library",
        R"(^<?[&*]*(mut |dyn )*(tokio|hyper|hyper_util|futures\w*|serde\w*|tracing\w*|rayon\w*|crossbeam\w*|parking_lot\w*|regex\w*|axum|tower\w*|actix\w*|mio|h2|reqwest|rustls|opentelemetry\w*|backtrace|gimli|addr2line)::)"},
    Default{
        "library",
        R"(^(boost|fmt|absl|grpc|grpc_core|google|nlohmann|rapidjson|spdlog|folly|Eigen|re2|simdjson|tbb|opentelemetry|testing)::)"},
    Default{"runtime",
            R"(^(java|javax|jdk|sun|jakarta|kotlin|kotlinx|scala|groovy|com[./]sun)[./])"},
    Default{
        "library",
        R"(^(org[./](springframework|apache|hibernate|eclipse|jboss|jooq|postgresql|slf4j|reactivestreams|aspectj|junit|bouncycastle)|io[./](netty|grpc|opentelemetry|micrometer|vertx|micronaut|quarkus|undertow|reactivex|lettuce)|com[./](google|fasterxml|zaxxer|mysql|netflix|squareup|mongodb)|ch[./]qos|reactor)[./])"},
    Default{
        "runtime",
        R"(^(Interpreter|call_stub|JavaCalls|Unsafe_\w+|JVM_\w+|[GC]1|C[12] )|^(v8|node)::|^(\(garbage collector\)|\(program\)|\(idle\)|\(root\)|Builtin:|BytecodeHandler:))"},
    Default{"runtime", R"(^(node:|internal/)|^(_?Py[A-Z_]|_PyEval_)\w*$)"},
    Default{"library", R"(node_modules/)"},
    Default{"runtime", R"(^(System|Microsoft|Interop)\.)"},
    Default{"library", R"(^\[)"},  // what is no function: [unknown], [truncated]
};

constexpr std::array kFiles = {
    Default{"runtime", R"(/(go|golang)/src/(runtime|internal)/)"},
    Default{"std",
            R"(/(go|golang)/src/|/rustc/|/include/c\+\+/|^<frozen |/lib/python3[^/]*/[^/]+\.py$)"},
    Default{
        "library",
        R"(/pkg/mod/|/vendor/|/\.cargo/registry/|/(site|dist)-packages/|/node_modules/|/gems/)"},
    Default{"runtime", R"(/lib/python3[^/]*/|/lib/ruby/|^node:)"},
};

// Defaults of one field, matched together.
class Defaults {
 public:
  explicit Defaults(std::span<const Default> all)
      : all_(all), set_(Options(), re2::RE2::UNANCHORED) {
    for (const Default& one : all) set_.Add(re2::StringPiece(one.regex), nullptr);
    set_.Compile();
  }
  // The first that matches; empty: none.
  [[nodiscard]] std::string_view KindOf(std::string_view text) const {
    std::vector<int> matches;
    if (text.empty() || !set_.Match(re2::StringPiece(text), &matches)) return {};
    return all_[static_cast<std::size_t>(*std::ranges::min_element(matches))].kind;
  }

 private:
  static re2::RE2::Options Options() {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_encoding(re2::RE2::Options::EncodingLatin1);  // names may be any bytes
    return options;
  }
  std::span<const Default> all_;
  re2::RE2::Set set_;
};

// "void std::sort<int*>(int*, int*)" -> "std::sort<int*>(int*, int*)": templates say what they
// return. Blanks in brackets, and those of operators, separate nothing.
std::string_view WithoutReturnType(std::string_view name) {
  if (name.find("operator") != std::string_view::npos) {
    const std::size_t at = name.find("operator ");
    if (at == 0) return name;
  }
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '(' && depth == 0 && !name.substr(i).starts_with("(anonymous namespace)")) {
      // Go's receivers, "pkg.(*T).F", are no parameters, and nothing returns before them.
      break;
    }
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' && i > 0 && name[i - 1] == '-') continue;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
    if (depth < 0) return name;
    if (c == ' ' && depth == 0) {
      if (name.substr(0, i).ends_with("operator") || name.substr(i + 1).starts_with("as ")) break;
      begin = i + 1;
    }
  }
  return begin < name.size() && std::isspace(static_cast<unsigned char>(name[begin])) == 0
             ? name.substr(begin)
             : name;
}

bool Found(const FlameFunction& f, const re2::RE2& regex) {
  return re2::RE2::PartialMatch(f.name, regex) ||
         (!f.module.empty() && re2::RE2::PartialMatch(f.module + "`" + f.name, regex)) ||
         (!f.file.empty() && re2::RE2::PartialMatch(f.file, regex));
}

}  // namespace

Result<OwnCode> OwnCode::Parse(std::string_view rules) {
  OwnCode own;
  if (rules == "default") return own;
  while (!rules.empty()) {
    const std::size_t end = std::min(rules.find(' '), rules.size());
    const std::string_view word = rules.substr(0, end);
    rules.remove_prefix(std::min(end + 1, rules.size()));
    if (word.empty()) continue;
    if (word.size() < 2 || (word[0] != '+' && word[0] != '-')) {
      return Error(Code::kInvalid,
                   fmt::format("rule '{}' of own code: expected +regex (own) or -regex (not own), "
                               "separated by blanks",
                               word));
    }
    auto regex = CompileRegex(word.substr(1));
    if (!regex) return std::move(regex).error().Within("own");
    own.rules_.push_back({word[0] == '+', *std::move(regex)});
  }
  return own;
}

namespace {

// What libwherefore calls its own threads below [wherefore]; a program's functions have a module.
bool IsProfilersThread(const FlameFunction& function) {
  constexpr std::array<std::string_view, 3> kThreads = {"collector", "exporter",
                                                        "wall clock sampler"};
  return function.module.empty() && function.file.empty() &&
         std::ranges::find(kThreads, function.name) != kThreads.end();
}

}  // namespace

std::string_view OwnCode::KindOf(const FlameFunction& function) const {
  static const Defaults modules(kModules);
  static const Defaults names(kNames);
  static const Defaults files(kFiles);
  const auto by_default = [&]() -> std::string_view {
    if (function.kind == profile::FrameKind::kKernel) return "kernel";
    if (IsProfilersThread(function)) return "profiler";
    if (const auto kind = modules.KindOf(function.module); !kind.empty()) return kind;
    if (const auto kind = names.KindOf(WithoutReturnType(function.name)); !kind.empty())
      return kind;
    return files.KindOf(function.file);
  };
  for (const Rule& rule : rules_) {
    if (!Found(function, *rule.regex)) continue;
    if (rule.own) return {};
    const std::string_view kind = by_default();
    return kind.empty() ? "library" : kind;
  }
  return by_default();
}

std::string OwnChain::Name() const {
  if (frames > kMostNamed) return fmt::format("[{}+ {} frames]", kMostNamed, kind);
  return fmt::format("[{} {} frame{}]", frames, kind, frames == 1 ? "" : "s");
}

}  // namespace wherefore::query
