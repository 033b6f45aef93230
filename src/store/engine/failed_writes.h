// Writes of the embedded engine that failed.
//
// The library takes no notice of an error of write(): on a full disk, over a quota or on a broken
// device it gives the empty file its name and answers that the rows are stored (ADR 8). So this
// file defines write() for the whole process: the call goes on to the C library unchanged, and
// where it fails in the engine's code, on a regular file, the file's folder is noted.
//
// Threads: any. The write() here allocates only after a failure. Under a sanitizer, which has its
// own write() and no engine, nothing is watched.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace wherefore::store {

// Starts watching the writes of the library that contains this function.
void WatchWritesOf(const void* function_of_library);

// How many writes failed so far. While the number stays the same, everything was written.
[[nodiscard]] std::uint64_t FailedWriteCount();

// The last of them, for people: "cannot write FILE: No space left on device".
[[nodiscard]] std::string LastFailedWrite();

// In a table's folder, the engine's list of the tokens of inserts.
inline constexpr std::string_view kTokenFolder = "deduplication_logs";

struct FailedWrites {
  // With files that are not what the engine takes them for; real paths, without links.
  std::set<std::string> folders;
  // What is missing at the end of which list of tokens (ADR 7): only these can be completed.
  std::map<std::string, std::string> token_lines;
};
// What was noted since the last call.
[[nodiscard]] FailedWrites TakeFailedWrites();
// Puts back what was taken and could not be mended yet.
void ReturnFailedWrites(FailedWrites failed);

}  // namespace wherefore::store
