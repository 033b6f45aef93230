// `run`: starts a program with libwherefore preloaded, after printing what will and will not work.
//
// The program replaces this one (exec): exit code, signals and terminal are its own. The library
// itself reports what is on, what is off and why.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/program.h"
#include "cli/source.h"
#include "net/http_client.h"

namespace wherefore::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::vector<std::string> command;
  std::string service;
  std::string types;
  std::string output;
  std::string pprof;
  std::string config;
  std::string library;
};

// NOLINTBEGIN(concurrency-mt-unsafe): this program has no other thread here
void SetDefault(const char* name, const std::string& value) {
  if (!value.empty() && Environment(name).empty()) setenv(name, value.c_str(), 1);
}
void Set(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}
// NOLINTEND(concurrency-mt-unsafe)

// Keeps what is preloaded already, with ours first.
void Preload(const std::string& library) {
  const std::string others = Environment("LD_PRELOAD");
  Set("LD_PRELOAD", others.empty() ? library : library + ":" + others);
}

// Prints the page that will show the profiles, or where else they go. The library itself reports
// what a configuration file decides and where files are written.
void PrintDestination(const Context& context) {
  const std::string endpoint = Environment("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (!Environment("WHEREFORE_OUTPUT").empty() || endpoint.empty()) return;
  if (endpoint != context.server) {
    // If it is not an address it can send to, the library says what it uses instead.
    if (endpoint.find("://") != std::string::npos && !IsUrl(endpoint)) return;
    fmt::print(stderr, "wherefore: profiles go to {}\n", UrlWithoutUser(endpoint));
    return;
  }
  const auto ready = net::Fetch("GET", context.server + "/ready");
  if (!ready || ready->status != 200) {
    fmt::print(stderr,
               "wherefore: warning: no server at {} yet (wherefore serve); profiles wait in memory "
               "for it\n",
               context.server);
  }
  const std::string service = Environment("OTEL_SERVICE_NAME");
  fmt::print(
      stderr, "wherefore: {}{}\n", context.server,
      service.empty() ? "/" : fmt::format("/s/{}?type=cpu&since=1h", net::PercentEncode(service)));
}

// Precedence: flags, the environment, the file, our defaults. The library ranks the environment
// above the file; so if there is a file, our defaults use variables that it ranks last.
void SetVariables(const Context& context, const RunOptions& options, const std::string& program) {
  Set("WHEREFORE_TYPES", options.types);
  Set("WHEREFORE_OUTPUT", options.output);
  Set("WHEREFORE_PPROF", options.pprof);
  Set("WHEREFORE_CONFIG", options.config);
  Set("OTEL_SERVICE_NAME", options.service);
  Set("WHEREFORE_TOKEN", context.token);  // ours was wiped
  if (context.server_named) SetDefault("OTEL_EXPORTER_OTLP_ENDPOINT", context.server);
  const bool file = !Environment("WHEREFORE_CONFIG").empty();
  const std::string name = fs::path(program).filename();
  const bool named =
      Environment("OTEL_RESOURCE_ATTRIBUTES").find("service.name") != std::string::npos;
  if (!named) SetDefault(file ? "WHEREFORE_RUN_SERVICE" : "OTEL_SERVICE_NAME", name);
  SetDefault(file ? "WHEREFORE_RUN_ENDPOINT" : "OTEL_EXPORTER_OTLP_ENDPOINT", context.server);
}

std::string Reason(int error) {
  return std::generic_category().message(error);
}

// Exit codes as in a shell: 127 not found, 126 not executable.
int CannotExecute(const std::string& program, const std::string& reason, int code) {
  fmt::print(stderr, "error: cannot execute {}: {}\n", program, reason);
  return code;
}

int Run(const Context& context, const RunOptions& options, std::vector<std::string> command) {
  const std::string program = FindProgram(command.front());
  if (access(program.c_str(), X_OK) != 0) {
    const int reason = errno;
    const bool there = access(program.c_str(), F_OK) == 0;
    const bool by_name = program.find('/') == std::string::npos;
    return CannotExecute(program, there || !by_name ? Reason(reason) : "not found in PATH",
                         there ? 126 : 127);
  }
  if (fs::is_directory(program)) return CannotExecute(program, Reason(EISDIR), 126);
  const std::string why_not = Examine(Interpreter(program)).why_not;
  if (!why_not.empty()) {
    fmt::print(stderr, "wherefore: not profiled: {} {}\n", Interpreter(program), why_not);
  } else {
    const Result<std::string> library = FindLibrary(options.library);
    if (!library) return Fail(library.error());
    Preload(*library);
  }
  SetVariables(context, options, program);
  if (why_not.empty()) PrintDestination(context);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 2);
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  // A script without "#!": run it with the shell, as a shell would.
  if (errno == ENOEXEC) {
    arguments.insert(arguments.begin(), const_cast<char*>("sh"));
    arguments[1] = const_cast<char*>(program.c_str());
    execv("/bin/sh", arguments.data());
  }
  return CannotExecute(program, Reason(errno), 126);
}

}  // namespace

void AddRun(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "run", "Run a program and profile it: no change to it, no restart of anything else",
      {"wherefore run -- ./app --its --own --options", "wherefore run --service checkout ./app",
       "wherefore run --types cpu,heap --pprof 6060 -- python3 job.py",
       "wherefore run --output recording -- ./app; wherefore push recording-*"});
  auto options = std::make_shared<RunOptions>();
  command->add_option("--service", options->service,
                      "Service name (default: OTEL_SERVICE_NAME, else service_name of the file, "
                      "else the program's name)");
  command->add_option("--types", options->types,
                      "Which of cpu, wall, off_cpu, heap, mutex, block, threads (default: all)");
  command->add_option("--output", options->output,
                      "Write files with this prefix instead of sending");
  command->add_option("--pprof", options->pprof, "Serve /debug/pprof/ on this port or host:port");
  command->add_option("--config", options->config,
                      "A file with a profiling: block; flags and the environment override it");
  command->add_option("--library", options->library, "libwherefore.so (default: beside wherefore)");
  command
      ->add_option("command", options->command,
                   "The program and its arguments; after \"--\" if it has options of its own")
      ->required();
  command->callback([&context, options] {
    context.run = [&context, options] { return Run(context, *options, options->command); };
  });
}

}  // namespace wherefore::cli
