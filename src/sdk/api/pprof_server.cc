#include "sdk/api/pprof_server.h"

#include <array>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "sdk/net/gzip.h"

namespace wherefore::sdk {
namespace {

constexpr double kLongest = 3600;
// Until all threads were looked at. A dump is of one moment, however long one asks for.
constexpr double kDump = 0.3;

struct Page {
  const char* name;
  const char* what;
  Type type;
  double seconds;  // without ?seconds=; 0: since the start, or as it is now
  bool alias = false;
};
constexpr std::array kPages = {
    Page{"profile", "CPU time; 30 seconds unless ?seconds= says otherwise", Type::kCpu, 30},
    Page{"wall", "elapsed time of all threads, waiting included; 30 seconds", Type::kWall, 30},
    Page{"offcpu", "time spent waiting; 30 seconds", Type::kOffCpu, 30},
    Page{"heap", "memory in use now", Type::kHeap, 0},
    Page{"mutex", "waiting for locks, since the start", Type::kMutex, 0},
    Page{"block", "waiting for conditions, semaphores and I/O, since the start", Type::kBlock, 0},
    Page{"threads", "stacks of all threads now", Type::kThreads, 0},
    Page{"goroutine", "", Type::kThreads, 0, true},
};

Result<ServedBody> Packed(Result<std::string> profile) {
  if (!profile) return std::move(profile).error();
  auto packed = Gzip(*profile);
  if (!packed) return Error(Code::kUnavailable, "out of memory");
  return ServedBody{"application/octet-stream", std::move(*packed)};
}

using Answer = std::variant<ServedBody, ServedLater>;

Result<Answer> Now(Result<std::string> profile) {
  WHEREFORE_ASSIGN_OR_RETURN(ServedBody body, Packed(std::move(profile)));
  return Answer(std::move(body));
}

Answer Later(const PprofSource& source, Type type, double seconds, std::string_view shown) {
  return ServedLater{.seconds = seconds,
                     .begin = [begin = source.begin, type] { return begin(type); },
                     .end = [end = source.end, shown](
                                std::uint64_t operation) { return Packed(end(operation, shown)); },
                     .drop = source.drop};
}

Result<double> Seconds(std::string_view query, double otherwise) {
  WHEREFORE_ASSIGN_OR_RETURN(const double seconds,
                             HttpServer::QueryNumber(query, "seconds", otherwise));
  if (seconds < 0 || seconds > kLongest)
    return Error(Code::kInvalid, fmt::format("seconds must be from 0 to {}", kLongest));
  return seconds;
}

std::string Index() {
  std::string html =
      "<!doctype html><title>/debug/pprof/</title><h1>/debug/pprof/</h1>"
      "<p>Profiles of this process: <code>go tool pprof URL</code> or <code>wherefore push "
      "URL</code></p><table>";
  const auto row = [&html](std::string_view name, std::string_view what) {
    html += fmt::format("<tr><td><a href=\"/debug/pprof/{0}\">{0}</a><td>{1}", name, what);
  };
  for (const Page& page : kPages) {
    if (!page.alias) row(page.name, page.what);
  }
  row("allocs", "memory allocated since the start");
  row("cmdline", "the command line");
  return html + "</table>\n";
}

// As Go does it: arguments separated by NUL.
Answer CommandLine() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  while (text.ends_with('\0')) text.pop_back();
  return ServedBody{"text/plain; charset=utf-8", std::move(text)};
}

}  // namespace

void AddPprofRoutes(HttpServer& server, const PprofSource& source) {
  for (const Page& page : kPages) {
    server.Add(std::string("/debug/pprof/") + page.name,
               [source, page](std::string_view query) -> Result<Answer> {
                 WHEREFORE_ASSIGN_OR_RETURN(double seconds, Seconds(query, page.seconds));
                 if (page.type == Type::kThreads) seconds = kDump;
                 if (seconds <= 0) return Now(source.now(page.type));
                 const char* const shown = page.type == Type::kHeap ? "inuse_space" : "";
                 return Later(source, page.type, seconds, shown);
               });
  }
  server.Add("/debug/pprof/allocs", [source](std::string_view query) -> Result<Answer> {
    WHEREFORE_ASSIGN_OR_RETURN(const double seconds, Seconds(query, 0));
    if (seconds <= 0) return Now(source.allocations());
    return Later(source, Type::kHeap, seconds, "");
  });
  server.Add("/debug/pprof/cmdline", [](std::string_view) { return CommandLine(); });
  // Profiles carry their names: there is nothing to look up here.
  server.Add("/debug/pprof/symbol", [](std::string_view) -> Answer {
    return ServedBody{"text/plain; charset=utf-8", "num_symbols: 0\n"};
  });
  for (const char* path : {"/debug/pprof/", "/debug/pprof"}) {
    server.Add(path, [](std::string_view) -> Answer {
      return ServedBody{"text/html; charset=utf-8", Index()};
    });
  }
}

}  // namespace wherefore::sdk
