// The protocol between the server and its worker.
//
//   message := size:u32 bytes[size]
//   worker's first := text                                 why it is not confined; empty: it is
//   request := 'f' build_id path folder*                   find this module's files
//            | 'r' build_id program debug address:u64*     resolve these addresses
//   answer  := 0 text                                      failure
//            | 1 program debug segment* | 1 frame*
//   text    := byte* 0
//
// Both ends are of the same build. The server trusts nothing the worker says: a file may have taken
// it over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbols/module_files.h"
#include "symbols/resolved_frame.h"

namespace wherefore::symbols {

struct FindRequest {
  std::string_view build_id;  // hex
  std::string_view path;
  std::vector<std::string> search_path;
};

// `addresses` are virtual addresses of the file.
struct ResolveRequest {
  std::string_view build_id;
  std::string_view program;
  std::string_view debug;
  std::span<const std::uint64_t> addresses;
};

inline constexpr std::size_t kMaxLinesPerAddress = 256;
inline constexpr std::int64_t kForEver = -1;

// Whether it becomes readable before `deadline_ns` (MonotonicNs, or kForEver).
[[nodiscard]] bool WaitToRead(int socket, std::int64_t deadline_ns);
// False if the other end is gone or the deadline came first.
[[nodiscard]] bool SendMessage(int socket, std::string_view message, std::int64_t deadline_ns);
[[nodiscard]] bool ReceiveMessage(int socket, std::string& message, std::int64_t deadline_ns);

[[nodiscard]] std::string Encode(const FindRequest& request);
[[nodiscard]] std::string Encode(const ResolveRequest& request);
[[nodiscard]] std::string EncodeError(std::string_view why);
[[nodiscard]] std::string EncodeFiles(const ModuleFiles& files);
[[nodiscard]] std::string EncodeFrames(const std::vector<ResolvedFrame>& frames);

// kNotFound: the worker says so. kCorrupt: malformed answer.
[[nodiscard]] Result<ModuleFiles> DecodeFiles(std::string_view answer);
[[nodiscard]] Result<std::vector<ResolvedFrame>> DecodeFrames(std::string_view answer,
                                                              std::size_t count);

}  // namespace wherefore::symbols
