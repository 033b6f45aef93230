#include "sdk/sample/hook_reach.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include "sdk/platform/next_function.h"
#include "sdk/sample/capture.h"

namespace wherefore::sdk {
namespace {

constexpr char kNoHooks[] = "there are no hooks in a fully static program";

void* BaseOf(const void* address, const char** file = nullptr) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return nullptr;
  if (file != nullptr) *file = info.dli_fname;
  return info.dli_fbase;
}

// Why the function, as the host calls it, is not ours. Inside the executable no hook can get
// between.
std::string WhyNotOurs(const std::string& name) {
  if (!HooksAreLinked()) return kNoHooks;
  const char* file = nullptr;
  void* const found = dlsym(RTLD_DEFAULT, name.c_str());
  void* const theirs = found == nullptr ? nullptr : BaseOf(found, &file);
  void* const ours = BaseOf(reinterpret_cast<void*>(&WhyNotOurs));
  if (theirs == nullptr || ours == nullptr) return name + " is not to be found";
  if (ours == theirs) return {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives an address as a number
  void* const entry = reinterpret_cast<void*>(getauxval(AT_ENTRY));
  if (BaseOf(entry) == theirs || file == nullptr) return name + " is inside the executable";
  return name + " comes from " + file + ", which is loaded before libwherefore";
}

// Another library that is asked first may well call ours: only what ours would call in turn is
// behind us.
std::string WhyNoLocksNow() {
  constexpr char kLock[] = "pthread_mutex_lock";
  std::string why = WhyNotOurs(kLock);
  const bool wrapped =
      !why.empty() && HooksAreLinked() && dlsym(RTLD_DEFAULT, kLock) != FindNext(kLock, nullptr);
  return wrapped ? std::string() : why;
}

}  // namespace

const std::string& WhyNoAllocations() {
  static const std::string& why = *new std::string(WhyNotOurs("malloc"));
  return why;
}

const std::string& WhyNoLocks() {
  static const std::string& why = *new std::string(WhyNoLocksNow());
  return why;
}

}  // namespace wherefore::sdk
