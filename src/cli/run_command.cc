// `run`: starts a program with libwherefore preloaded, after saying what will and will not work.
//
// The program takes the place of this one (exec): its exit code, its signals and its terminal are
// its own. What is on, what is off and why is said by the library itself, which knows.
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "elf/elf_file.h"
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
std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}
void SetDefault(const char* name, const std::string& value) {
  if (!value.empty() && Environment(name).empty()) setenv(name, value.c_str(), 1);
}
void Set(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}
// NOLINTEND(concurrency-mt-unsafe)

// As the shell would: a path as it is, a name from PATH.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::string path = Environment("PATH");
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const fs::path candidate = fs::path(path.substr(0, end)) / name;
    path.erase(0, std::min(end + 1, path.size()));
    if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) return candidate;
  }
  return name;
}

// The file that is executed in the end: a script's interpreter ("#!").
std::string Interpreter(const std::string& program) {
  std::ifstream in(program, std::ios::binary);
  std::string line;
  if (!std::getline(in, line) || !line.starts_with("#!")) return program;
  const std::size_t begin = line.find_first_not_of(' ', 2);
  if (begin == std::string::npos) return program;
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

// Why this program will not be profiled: the dynamic linker preloads nothing into it. Empty when it
// will be.
std::string WhyNot(const std::string& program) {
  const Result<elf::ElfFile> file = elf::ElfFile::Open(program);
  // The library is inside already and needs nothing preloaded.
  if (file && file->FindSection("wherefore_inside") != nullptr) return "";
  struct stat status{};
  if (stat(program.c_str(), &status) != 0) return "";
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
    return "is setuid or setgid: the system ignores LD_PRELOAD for it";
  if (getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "has file capabilities: the system ignores LD_PRELOAD for it";
  if (!file) return fmt::format("is no x86-64 ELF file ({})", file.error().message());
  if (file->FindSection(".interp") == nullptr)
    return "is linked statically: nothing can be preloaded into it; link "
           "libwherefore_nohooks.a instead";
  if (const elf::Section* const names = file->FindSection(".dynstr"); names != nullptr) {
    const Result<elf::Data> data = file->Read(*names);
    if (data) {
      const auto bytes = data->bytes();
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (text.find("libasan.so") != std::string_view::npos)
        return "is built with AddressSanitizer, which refuses to be preloaded over";
    }
  }
  return "";
}

Result<std::string> FindLibrary(const std::string& given) {
  if (!given.empty()) {
    if (fs::exists(given)) return fs::absolute(given).string();
    return Error(Code::kInvalid, "no library at " + given);
  }
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place :
       {"libwherefore.so", "../lib/libwherefore.so", "../lib/x86_64-linux-gnu/libwherefore.so",
        "../lib64/libwherefore.so"}) {
    if (fs::exists(here / place)) return fs::weakly_canonical(here / place).string();
  }
  return Error(Code::kNotFound,
               "libwherefore.so is neither beside this program nor in ../lib; name "
               "it with --library");
}

// Beside what somebody else wants preloaded, ours first.
void Preload(const std::string& library) {
  const std::string others = Environment("LD_PRELOAD");
  Set("LD_PRELOAD", others.empty() ? library : library + ":" + others);
}

void SayWhere(const Context& context, const std::string& service, bool to_files) {
  if (to_files) return;
  const std::string endpoint = Environment("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (endpoint != context.server) {
    fmt::print(stderr, "wherefore: profiles go to {}\n", endpoint);
    return;
  }
  const auto ready = net::Fetch("GET", context.server + "/ready");
  if (!ready || ready->status != 200) {
    fmt::print(stderr,
               "wherefore: warning: no server at {} yet (wherefore serve); profiles wait in memory "
               "for it\n",
               context.server);
  }
  fmt::print(stderr, "wherefore: {}/s/{}?type=cpu&since=1h\n", context.server,
             net::PercentEncode(service));
}

int Run(const Context& context, const RunOptions& options, std::vector<std::string> command) {
  const std::string program = FindProgram(command.front());
  if (access(program.c_str(), X_OK) != 0) {
    fmt::print(stderr, "error: cannot execute {}\n", command.front());
    return access(program.c_str(), F_OK) == 0 ? 126 : 127;  // as a shell says it
  }
  const std::string why_not = WhyNot(Interpreter(program));
  if (!why_not.empty()) {
    fmt::print(stderr, "wherefore: not profiled: {} {}\n", Interpreter(program), why_not);
  } else {
    const Result<std::string> library = FindLibrary(options.library);
    if (!library) return Fail(library.error());
    Preload(*library);
  }
  Set("OTEL_SERVICE_NAME", options.service);
  SetDefault("OTEL_SERVICE_NAME", fs::path(program).filename());
  SetDefault("OTEL_EXPORTER_OTLP_ENDPOINT", context.server);
  Set("WHEREFORE_TYPES", options.types);
  Set("WHEREFORE_OUTPUT", options.output);
  Set("WHEREFORE_PPROF", options.pprof);
  Set("WHEREFORE_CONFIG", options.config);
  if (why_not.empty())
    SayWhere(context, Environment("OTEL_SERVICE_NAME"), !Environment("WHEREFORE_OUTPUT").empty());
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  // A script without "#!": the shell runs it, as it would have.
  if (errno == ENOEXEC) {
    arguments.insert(arguments.begin(), const_cast<char*>("sh"));
    arguments[1] = const_cast<char*>(program.c_str());
    execv("/bin/sh", arguments.data());
  }
  fmt::print(stderr, "error: cannot execute {}\n", program);
  return 126;
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
                      "Service name (default: OTEL_SERVICE_NAME, else the program's name)");
  command->add_option("--types", options->types,
                      "Which of cpu, wall, off_cpu, heap, mutex, block, threads (default: all)");
  command->add_option("--output", options->output,
                      "Write files with this prefix instead of sending");
  command->add_option("--pprof", options->pprof, "Serve /debug/pprof/ on this port or host:port");
  command->add_option("--config", options->config, "A file with a profiling: block");
  command->add_option("--library", options->library, "libwherefore.so (default: beside wherefore)");
  command
      ->add_option("command", options->command,
                   "The program and its arguments; behind \"--\" when it has options of its own")
      ->required();
  command->callback([&context, options] {
    context.run = [&context, options] { return Run(context, *options, options->command); };
  });
}

}  // namespace wherefore::cli
