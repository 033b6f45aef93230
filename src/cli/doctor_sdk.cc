// `doctor`, about libwherefore. Only the library knows what is on, what is off and why, so this
// program runs itself with the library preloaded and prints what its C ABI reports.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"
#include "cli/doctor.h"
#include "cli/program.h"
#include "wherefore/wherefore.h"

namespace wherefore::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, WHEREFORE_TYPE_COUNT> kTypes = {
    "cpu", "wall", "off_cpu", "heap", "mutex", "block", "threads"};
constexpr char kLimits[] = "docs/sdk.md, \"Limits\", says what each type needs";
constexpr char kMarker[] = "wherefore-crash-";

struct TypeAnswer {
  std::string type;
  bool on = false;
  std::string why;
};
struct Answers {
  std::string version;  // "": the library is not loaded
  bool running = false;
  std::vector<TypeAnswer> types;
  std::vector<std::string> said;  // by the dynamic linker, or by the library beyond its start line
};

// --- the process with the library ---

template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

int RunSdkProbe() {
  auto* const version = Find<decltype(wherefore_version)>("wherefore_version");
  auto* const running = Find<decltype(wherefore_running)>("wherefore_running");
  auto* const state_of = Find<decltype(wherefore_get_type_state)>("wherefore_get_type_state");
  if (version == nullptr || running == nullptr || state_of == nullptr) return kFound;
  fmt::print("probe\tversion\t{}\n", version());
  fmt::print("probe\trunning\t{}\n", running());
  for (int i = 0; i < WHEREFORE_TYPE_COUNT; ++i) {
    wherefore_type_state state{};
    state.size = sizeof(state);
    state_of(i, &state);
    fmt::print("probe\ttype\t{}\t{}\t{}\n", kTypes[static_cast<std::size_t>(i)], state.on,
               state.why);
  }
  return kFine;
}

namespace {

// --- the process that starts it ---

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Answers ReadAnswers(std::string_view output) {
  Answers answers;
  for (const std::string_view line : Split(output, '\n')) {
    const std::vector<std::string_view> parts = Split(line, '\t');
    if (parts.size() == 3 && parts[0] == "probe" && parts[1] == "version") {
      answers.version = parts[2];
    } else if (parts.size() == 3 && parts[0] == "probe" && parts[1] == "running") {
      answers.running = parts[2] == "1";
    } else if (parts.size() == 5 && parts[0] == "probe") {
      answers.types.push_back({std::string(parts[2]), parts[3] == "1", std::string(parts[4])});
    } else if (!line.empty() && !line.starts_with("wherefore: profiling ")) {
      answers.said.emplace_back(line.starts_with("wherefore: ") ? line.substr(11) : line);
    }
  }
  return answers;
}

// This environment, except where the library writes and how much it logs.
std::vector<std::string> ProbeEnvironment(const std::string& library, const std::string& folder) {
  const std::string others = Environment("LD_PRELOAD");
  std::vector<std::string> all = {"LD_PRELOAD=" + library + (others.empty() ? "" : ":" + others),
                                  "WHEREFORE_OUTPUT=" + folder + "/", "WHEREFORE_LOG=info",
                                  "WHEREFORE_PPROF=off",
                                  "WHEREFORE_STATE_DIR="};  // the library would create the folder
  const std::size_t own = all.size();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    bool replaced = text.starts_with("WHEREFORE_SAID=");
    for (std::size_t i = 0; i < own; ++i) {
      replaced = replaced || text.starts_with(all[i].substr(0, all[i].find('=') + 1));
    }
    if (!replaced) all.emplace_back(text);
  }
  return all;
}

// The output of the probe; none if it could not be started.
std::optional<std::string> RunProbe(const std::string& library, const std::string& folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<std::string> variables = ProbeEnvironment(library, folder);
  std::vector<char*> environment;
  environment.reserve(variables.size() + 1);
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string name = "wherefore";
  std::string command = kSdkProbe;
  const std::array<char*, 3> arguments = {name.data(), command.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(),
                                environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while (error == 0 && (got = read(ends[0], buffer.data(), buffer.size())) > 0)
    output.append(buffer.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  if (error != 0) return std::nullopt;
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) output += fmt::format("it ended by signal {}\n", WTERMSIG(status));
  return output;
}

std::optional<Answers> AskLibrary(const std::string& library) {
  std::string folder = (fs::temp_directory_path() / "wherefore-doctor-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return std::nullopt;
  const auto output = RunProbe(library, folder);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!output) return std::nullopt;
  return ReadAnswers(*output);
}

// As far as the environment says; the library tells the address when it starts.
void ReportRemoteControl(Report& report) {
  const std::string remote = Lower(Environment("WHEREFORE_REMOTE"));
  const std::string own = Environment("OTEL_OPAMP_ENDPOINT");
  if (remote == "off" || remote == "false" || remote == "no" || remote == "0")
    return report.Good("libwherefore, remote control: off (WHEREFORE_REMOTE)");
  report.Good(fmt::format(
      "libwherefore, remote control: obeys {}, types, rates and limits only (WHEREFORE_REMOTE=off "
      "switches it off)",
      own.empty() ? "/v1/opamp of the server it sends to" : UrlWithoutUser(own)));
}

void ReportTypes(const Answers& answers, Report& report) {
  std::string on;
  for (const TypeAnswer& type : answers.types) {
    if (type.on) {
      on += (on.empty() ? "" : ", ") + type.type;
      if (!type.why.empty()) on += " (" + type.why + ")";
    }
  }
  report.Good("libwherefore, on here: " + (on.empty() ? "nothing" : on));
  for (const TypeAnswer& type : answers.types) {
    if (type.on) continue;
    const std::string line = fmt::format("libwherefore, {} is off: {}", type.type, type.why);
    const bool chosen =
        type.why.starts_with("switched off") || type.why == "waits to be started by hand";
    if (chosen) {
      report.Good(line);
    } else {
      report.Bad(line, kLimits);
    }
  }
  ReportRemoteControl(report);
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_nsec > 0)
    report.Good(fmt::format("libwherefore, highest CPU rate: {} Hz, the kernel's clock tick",
                            1'000'000'000 / tick.tv_nsec));
}

void CheckLibrary(const SdkOptions& options, Report& report) {
  const Result<std::string> library = FindLibrary(options.library);
  if (!library) {
    if (!options.library.empty()) return report.Bad(library.error().message(), "name another");
    return report.Good(
        "libwherefore.so is not beside this program: `wherefore run` needs --library");
  }
  const std::optional<Answers> answers = AskLibrary(*library);
  if (!answers) return report.Bad("cannot start a process to try libwherefore in", "free memory");
  std::string said;
  for (const std::string& line : answers->said) said += (said.empty() ? "" : "; ") + line;
  if (answers->version.empty()) {
    return report.Bad(fmt::format("{} cannot be loaded: {}", *library, said),
                      "is it complete, and built for this system?");
  }
  report.Good(fmt::format("libwherefore {} can be loaded: {}", answers->version, *library));
  if (!answers->running) {
    return report.Bad("libwherefore does not start in this environment: " + said,
                      "the message names the setting or the limit");
  }
  for (const std::string& line : answers->said)
    report.Bad("libwherefore: " + line, "correct the setting; docs/sdk.md has all of them");
  ReportTypes(*answers, report);
}

// Parts that once crashed a program stay off in it.
void CheckCrashMarkers(const std::string& build_id, Report& report) {
  const std::string folder = Environment("WHEREFORE_STATE_DIR");
  if (folder.empty()) {
    return report.Good(
        "libwherefore, crash markers: none are kept (WHEREFORE_STATE_DIR is not set)");
  }
  std::size_t found = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kMarker)) continue;
    const std::string program = name.substr(sizeof(kMarker) - 1);
    if (!build_id.empty() && program != build_id) continue;
    ++found;
    const auto part = ReadFile(entry.path());
    report.Bad(
        fmt::format(
            "libwherefore crashed the program with build id {} in '{}', which stays off in it",
            program, part ? Printable(*part) : "?"),
        "please report it; to try again remove " + entry.path().string());
  }
  const bool not_yet = error == std::errc::no_such_file_or_directory;  // the library creates it
  if ((error && !not_yet) || (!error && access(folder.c_str(), W_OK | X_OK) != 0)) {
    report.Bad(fmt::format("libwherefore, crash markers: cannot use {}: {}", folder,
                           error ? error.message() : "it cannot be written to"),
               "set WHEREFORE_STATE_DIR to a folder the program may write to");
  } else if (found == 0) {
    report.Good("libwherefore, crash markers: none in " + folder);
  }
}

// Returns its build id; "" if it has none or there is no such program.
std::string CheckProgram(const std::string& name, Report& report) {
  const std::string program = FindProgram(name);
  if (access(program.c_str(), X_OK) != 0) {
    report.Bad("cannot execute " + name, "is it a program, and is it here?");
    return "";
  }
  const std::string executed = Interpreter(program);
  const Suitability found = Examine(executed);
  if (!found.why_not.empty()) {
    report.Bad(fmt::format("{} {}", executed, found.why_not), "docs/sdk.md, \"Limits\"");
  } else if (found.library_inside) {
    report.Good(executed + " has libwherefore inside: nothing is preloaded");
  } else {
    report.Good("libwherefore can be preloaded into " + executed);
  }
  if (!found.why_no_heap.empty())
    report.Bad(fmt::format("{}: heap will be off: {}", executed, found.why_no_heap),
               "link the allocator as a shared library");
  return found.build_id;
}

}  // namespace

void CheckSdk(const SdkOptions& options, Report& report) {
  CheckLibrary(options, report);
  const std::string build_id = options.program.empty() ? "" : CheckProgram(options.program, report);
  CheckCrashMarkers(build_id, report);
}

}  // namespace wherefore::cli
