#include "sdk/sample/crash_marker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sdk/platform/next_function.h"

namespace wherefore::sdk {
namespace {

constexpr std::array<const char*, 6> kPartNames = {"", "cpu", "heap", "locks", "wall", "collector"};

// Written once, before the handlers are there; read by them.
constinit char g_path[512] = {};
constinit struct sigaction g_before[2] = {};

void OnCrash(int signal, siginfo_t* /*info*/, void* /*context*/) {
  const std::uint8_t part = t_state.part;
  if (part > 0 && part < kPartNames.size()) {
    const int file = open(g_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0) {
      const char* name = kPartNames[part];
      [[maybe_unused]] const ssize_t written = write(file, name, std::strlen(name));
      close(file);
    }
    t_state.part = 0;
  }
  // Restores the previous handler: the instruction fails again, and that handler gets it.
  CallNext<"sigaction", int>(
      signal, static_cast<const struct sigaction*>(&g_before[signal == SIGBUS ? 1 : 0]),
      static_cast<struct sigaction*>(nullptr));
}

}  // namespace

bool InstallCrashMarker(const std::string& state_dir, const std::string& program) {
  const std::string path = state_dir + "/wherefore-crash-" + program;
  if (state_dir.empty() || g_path[0] != '\0') return true;
  errno = ENAMETOOLONG;
  if (path.size() >= sizeof g_path) return false;
  mkdir(state_dir.c_str(), 0700);
  // The slash: a file of that name is no place.
  if (access((state_dir + "/").c_str(), W_OK | X_OK) != 0) return false;
  std::memcpy(g_path, path.c_str(), path.size() + 1);
  struct sigaction action = {};
  action.sa_sigaction = OnCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS}) {
    CallNext<"sigaction", int>(signal, static_cast<const struct sigaction*>(&action),
                               &g_before[signal == SIGBUS ? 1 : 0]);
  }
  return true;
}

Part ReadCrashMarker() {
  if (g_path[0] == '\0') return Part::kNone;
  const int file = open(g_path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return Part::kNone;
  char text[32] = {};
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  for (std::size_t i = 1; got > 0 && i < kPartNames.size(); ++i) {
    if (std::strcmp(text, kPartNames[i]) == 0) return static_cast<Part>(i);
  }
  return Part::kNone;
}

std::string CrashMarkerPath() {
  return g_path;
}

void RemoveCrashMarker() {
  if (g_path[0] != '\0') unlink(g_path);
}

}  // namespace wherefore::sdk
