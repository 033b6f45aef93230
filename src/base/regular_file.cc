#include "base/regular_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace wherefore {
namespace {

constexpr long kConfigfs = 0x62656570;  // missing from the system headers

// File systems whose regular files belong to the kernel: opening or reading one may have side
// effects.
bool IsKernels(decltype(statfs::f_type) type) {
  constexpr decltype(statfs::f_type) kTypes[] = {
      PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC,      TRACEFS_MAGIC,
      SECURITYFS_MAGIC,   SELINUX_MAGIC,       SMACK_MAGIC,        kConfigfs,
      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,       PSTOREFS_MAGIC,
      EFIVARFS_MAGIC,     BINFMTFS_MAGIC,      DEVPTS_SUPER_MAGIC, NSFS_MAGIC};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

}  // namespace

Result<RegularFile> OpenRegularFile(const std::string& path) {
  const Descriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.get() < 0) return Error(Code::kNotFound, path + ": cannot be opened");
  struct stat facts{};
  struct statfs system{};
  if (fstat(place.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      fstatfs(place.get(), &system) != 0 || IsKernels(system.f_type)) {
    return Error(Code::kInvalid, path + ": not a regular file");
  }
  const std::string link = "/proc/self/fd/" + std::to_string(place.get());
  std::error_code error;
  std::string real = std::filesystem::read_symlink(link, error);
  if (error || !real.starts_with('/')) {
    return Error(Code::kInvalid, path + ": not a file in this file system");
  }
  // Non-blocking: another process may hold a lease on the file.
  Descriptor file(open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return Error(Code::kNotFound, path + ": cannot be opened");
  return RegularFile{.file = std::move(file), .path = std::move(real)};
}

}  // namespace wherefore
