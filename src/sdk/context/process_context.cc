#include "sdk/context/process_context.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>

#include "base/mutex.h"
#include "formats/otlp/common.h"
#include "formats/wire/protobuf.h"
#include "sdk/platform/quiet_signals.h"

namespace wherefore::sdk {
namespace {

constexpr char kName[] = "OTEL_CTX";
constexpr char kSchema[] = "tlsdesc_v1_dev";
constexpr std::size_t kMaxPayload = 65536;  // readers refuse more
constexpr unsigned kNoExecSeal = 8;         // MFD_NOEXEC_SEAL: newer than Debian 12's headers

struct Header {
  char signature[8];
  std::uint32_t version;
  std::uint32_t payload_size;
  std::uint64_t published_at_ns;
  const char* payload;
};
static_assert(sizeof(Header) == 32 && offsetof(Header, published_at_ns) == 16);

struct State {
  Mutex mutex;
  Header* header GUARDED_BY(mutex) = nullptr;
  // The bytes the header points to; the old ones stay until the new ones are in place.
  std::string payload GUARDED_BY(mutex);
  ResourceAttributes resource GUARDED_BY(mutex);
};
State& Global() {
  static auto* const state = new State;  // never destroyed: threads may outlive main
  return *state;
}

std::size_t MappingBytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t BootTimeNs() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

bool SomebodyPublished() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const char* name : {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX"}) {
      if (line.find(name) != std::string::npos) return true;
    }
  }
  return false;
}

int OpenMemory() {
  const auto create = [](unsigned flags) {
    return static_cast<int>(syscall(SYS_memfd_create, kName, flags));
  };
  const int fd = create(MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecSeal);
  return fd >= 0 ? fd : create(MFD_CLOEXEC | MFD_ALLOW_SEALING);  // kernels before 6.3
}

// The name by which readers find the mapping. Called after every change too: a tracer may watch for
// the call itself, so it is made even where the kernel will refuse.
bool NameMapping(void* mapping) {
  constexpr int kSetVma = 0x53564d41;  // PR_SET_VMA, PR_SET_VMA_ANON_NAME = 0
  return prctl(kSetVma, 0, mapping, MappingBytes(), kName) == 0;
}

Result<Header*> NewMapping(bool& from_file) {
  const QuietSignals quiet;  // a limit on file sizes holds for this one too
  const int fd = OpenMemory();
  void* mapping = MAP_FAILED;
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  if (fd >= 0) {
    if (ftruncate(fd, static_cast<off_t>(MappingBytes())) == 0)
      mapping = mmap(nullptr, MappingBytes(), kAccess, MAP_PRIVATE, fd, 0);
    close(fd);
  }
  from_file = mapping != MAP_FAILED;
  if (!from_file)
    mapping = mmap(nullptr, MappingBytes(), kAccess, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return Error(Code::kUnsupported, "process context: mmap failed");
  // A child that inherited it would pass for its parent.
  if (madvise(mapping, MappingBytes(), MADV_DONTFORK) != 0) {
    munmap(mapping, MappingBytes());
    return Error(Code::kUnsupported, "process context: madvise(MADV_DONTFORK) failed");
  }
  return static_cast<Header*>(mapping);
}

void Fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void StoreTime(Header* header, std::uint64_t time) {
  std::atomic_ref(header->published_at_ns).store(time, std::memory_order_relaxed);
}

Result<> PublishFirst(State& state, std::string payload) REQUIRES(state.mutex) {
  if (SomebodyPublished())
    return Error(Code::kUnsupported, "process context: another SDK has published one");
  bool from_file = false;
  WHEREFORE_ASSIGN_OR_RETURN(Header* const header, NewMapping(from_file));
  state.payload = std::move(payload);
  std::memcpy(header->signature, kName, sizeof(header->signature));
  header->version = 2;
  header->payload_size = static_cast<std::uint32_t>(state.payload.size());
  header->payload = state.payload.data();
  Fence();
  StoreTime(header, BootTimeNs());
  if (!NameMapping(header) && !from_file) {
    munmap(header, MappingBytes());
    return Error(Code::kUnsupported,
                 "process context: the kernel can neither name memory nor make "
                 "a memory file");
  }
  state.header = header;
  return {};
}

void Replace(State& state, std::string payload) REQUIRES(state.mutex) {
  Header* const header = state.header;
  const std::uint64_t last = header->published_at_ns;
  StoreTime(header, 0);
  Fence();
  header->payload_size = static_cast<std::uint32_t>(payload.size());
  state.payload.swap(payload);  // `payload` holds the old bytes until the end of this function
  header->payload = state.payload.data();
  Fence();
  StoreTime(header, std::max(BootTimeNs(), last + 1));
  NameMapping(header);
}

Result<> Publish(State& state, const std::vector<std::string>& label_keys) REQUIRES(state.mutex) {
  std::string payload = EncodeProcessContext(state.resource, label_keys);
  if (payload.size() > kMaxPayload)
    return Error(Code::kLimit, "process context: resource and label names exceed 64 KiB");
  if (state.header == nullptr) return PublishFirst(state, std::move(payload));
  Replace(state, std::move(payload));
  return {};
}

}  // namespace

std::string EncodeProcessContext(const ResourceAttributes& resource,
                                 const std::vector<std::string>& label_keys) {
  using profile::Value;
  profile::TextPool pool;
  const profile::Resource described = AddResource(pool, resource);
  const std::vector<std::string_view> names(label_keys.begin(), label_keys.end());
  const profile::Attribute extras[] = {
      {pool.AddText("threadlocal.schema_version"),
       0,
       {Value::Kind::kString, pool.AddText(kSchema), 0}},
      {pool.AddText("threadlocal.attribute_key_map"),
       0,
       {Value::Kind::kArray, pool.AddText(formats::StringArrayValue(names)), 0}}};
  std::string out;
  formats::PbfWriter root(out);
  {
    formats::PbfWriter message(root, 1);
    formats::WriteResource(message, pool, described);
  }
  for (const profile::Attribute& extra : extras) {
    formats::PbfWriter message(root, 2);
    formats::WriteKeyValue(message, pool, extra);
  }
  return out;
}

Result<> PublishProcessContext(const ResourceAttributes& resource,
                               const std::vector<std::string>& label_keys) {
  State& state = Global();
  const MutexLock lock(state.mutex);
  state.resource = resource;
  return Publish(state, label_keys);
}

Result<> UpdateProcessContext(const std::vector<std::string>& label_keys) {
  State& state = Global();
  const MutexLock lock(state.mutex);
  if (state.header == nullptr) return {};
  return Publish(state, label_keys);
}

void LockProcessContext() {
  Global().mutex.LockForFork();
}

void UnlockProcessContext(bool in_child) {
  State& state = Global();
  state.mutex.HeldOverFork();
  if (in_child) state.header = nullptr;
  state.mutex.unlock();
}

}  // namespace wherefore::sdk
