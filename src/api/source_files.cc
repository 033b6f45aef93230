#include "api/source_files.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/source_kind.h"
#include "base/regular_file.h"

namespace wherefore::api {
namespace {

namespace fs = std::filesystem;

// "/a/b/c.cc" -> a, b, c.cc; none when it tries to go up or has no name.
std::vector<std::string> Segments(const std::string& named) {
  std::vector<std::string> out;
  if (named.find('\0') != std::string::npos) return out;
  std::size_t begin = 0;
  while (begin <= named.size()) {
    // Profiles of Windows programs have the other slash.
    const std::size_t end = std::min(named.find_first_of("/\\", begin), named.size());
    std::string part = named.substr(begin, end - begin);
    if (part == "..") return {};
    if (!part.empty() && part != ".") out.push_back(std::move(part));
    begin = end + 1;
  }
  return out;
}

struct Opened {
  Descriptor file;
  std::string path;  // below the root
};

// A regular file that really lies below `root`.
std::optional<Opened> OpenBelow(const fs::path& root, const fs::path& ending) {
  auto opened = OpenRegularFile(root / ending);
  if (!opened) return std::nullopt;
  const fs::path real = opened->path;
  const fs::path below = real.lexically_relative(root);
  if (below.empty() || *below.begin() == ".." || below == ".") return std::nullopt;
  return Opened{.file = std::move(opened->file), .path = below.string()};
}

// Every ending of the path, longest first, at every root.
std::optional<Opened> Find(const std::vector<std::string>& roots,
                           const std::vector<std::string>& segments) {
  for (std::size_t first = 0; first < segments.size(); ++first) {
    fs::path ending;
    for (std::size_t i = first; i < segments.size(); ++i) ending /= segments[i];
    for (const std::string& root : roots) {
      std::error_code error;
      const fs::path real_root = fs::canonical(root, error);
      if (error) continue;
      if (auto opened = OpenBelow(real_root, ending)) return opened;
    }
  }
  return std::nullopt;
}

Result<std::string> ReadAll(const Descriptor& file, const std::string& named) {
  std::string text;
  std::string chunk(64u << 10, '\0');
  while (true) {
    const ssize_t n = read(file.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(Code::kNotFound, fmt::format("'{}' cannot be read", named));
    if (n == 0) return text;
    text.append(chunk, 0, static_cast<std::size_t>(n));
    if (text.size() > SourceFiles::kMostBytes) {
      return Error(Code::kLimit,
                   fmt::format("'{}' is larger than {} bytes", named, SourceFiles::kMostBytes));
    }
  }
}

}  // namespace

Result<SourceText> SourceFiles::Read(const std::string& named) const {
  const Error refused(Code::kNotFound, fmt::format("'{}' is not shown: it looks like settings, "
                                                   "credentials or keys, not like source",
                                                   named));
  const std::vector<std::string> segments = Segments(named);
  if (!segments.empty() && LooksSecretByName(segments.back())) return refused;
  auto opened = Find(roots_, segments);
  if (!opened) {
    return Error(Code::kNotFound,
                 fmt::format("no file that '{}' ends with lies below a source root", named));
  }
  if (LooksSecretByName(opened->path)) return refused;
  WHEREFORE_ASSIGN_OR_RETURN(std::string text, ReadAll(opened->file, named));
  if (LooksSecretByContent(text)) return refused;
  if (text.find('\0') != std::string::npos)
    return Error(Code::kInvalid, fmt::format("'{}' is a binary file", named));
  return SourceText{.path = std::move(opened->path), .text = std::move(text)};
}

}  // namespace wherefore::api
