// RunWorker: the child process.
#include "symbols/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "base/clock.h"
#include "elf/byte_reader.h"
#include "symbols/confine.h"
#include "symbols/dwarf_module.h"
#include "symbols/module_files.h"

namespace wherefore::symbols {
namespace {

constexpr std::size_t kMaxOpenModules = 8;
constexpr std::int64_t kIdleNs = 60 * kNsPerSecond;
constexpr rlim_t kMaxMemory = rlim_t{2} << 30;

// The modules used last, most recent first.
class OpenModules {
 public:
  Result<DwarfModule*> Get(const ModuleSource& source) {
    for (auto it = modules_.begin(); it != modules_.end(); ++it) {
      if (it->source != source) continue;
      std::rotate(modules_.begin(), it, it + 1);
      return modules_.front().module.get();
    }
    WHEREFORE_ASSIGN_OR_RETURN(auto opened, DwarfModule::Open(source));
    modules_.push_front({source, std::move(opened)});
    if (modules_.size() > kMaxOpenModules) modules_.pop_back();
    return modules_.front().module.get();
  }

 private:
  struct Entry {
    ModuleSource source;
    std::unique_ptr<DwarfModule> module;
  };
  std::deque<Entry> modules_;
};

std::string Find(elf::ByteReader& reader) {
  const std::string build_id(reader.CString());
  const std::string path(reader.CString());
  std::vector<std::string> search_path;
  while (reader.left() > 0) search_path.emplace_back(reader.CString());
  const auto files = FindModuleFiles(build_id, path, search_path);
  return files ? EncodeFiles(*files) : EncodeError("no such file");
}

std::string Resolve(elf::ByteReader& reader, OpenModules& modules) {
  ModuleSource source;
  source.build_id = reader.CString();
  source.program = reader.CString();
  source.debug = reader.CString();
  const Result<DwarfModule*> module = modules.Get(source);
  if (!module) return EncodeError(module.error().message());
  std::vector<ResolvedFrame> frames;
  while (reader.left() >= sizeof(std::uint64_t)) {
    frames.push_back((*module)->Resolve(reader.Read<std::uint64_t>()));
    if (frames.back().size() > kMaxLinesPerAddress) frames.back().resize(kMaxLinesPerAddress);
  }
  return EncodeFrames(frames);
}

std::string Answer(OpenModules& modules, std::string_view request) {
  elf::ByteReader reader({reinterpret_cast<const std::uint8_t*>(request.data()), request.size()});
  const auto kind = reader.Read<char>();
  return kind == 'f' ? Find(reader) : Resolve(reader, modules);
}

// Why confinement failed; empty if it succeeded.
std::string Confine() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "wf-symbols");
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  constexpr int kBehindQueries = 5;
  (void)nice(kBehindQueries);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return {};  // sanitizers reserve terabytes and make system calls of their own
#else
  const rlimit memory{kMaxMemory, kMaxMemory};
  setrlimit(RLIMIT_DATA, &memory);
  const Result<> confined = ConfineToReading();
  return confined ? std::string() : confined.error().message();
#endif
}

}  // namespace

int RunWorker(int socket) {
  if (!SendMessage(socket, Confine(), kForEver)) return 1;
  OpenModules modules;
  std::string request;
  while (WaitToRead(socket, MonotonicNs() + kIdleNs)) {
    if (!ReceiveMessage(socket, request, kForEver)) break;
    if (!SendMessage(socket, Answer(modules, request), kForEver)) break;
  }
  return 0;
}

}  // namespace wherefore::symbols
