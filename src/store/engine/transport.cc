// Literals and error codes, the same for every transport.
#include "store/engine/transport.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/memory_budget.h"
#include "base/text.h"

namespace wherefore::store {

std::string Quote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '\'';
  return out;
}

std::string QuoteBytes(std::string_view bytes) {
  return fmt::format("toFixedString(unhex('{}'),{})", ToHex(bytes), bytes.size());
}

namespace {

int EngineCode(std::string_view message) {
  const std::size_t at = message.find("Code: ");
  if (at == std::string_view::npos) return 0;
  int code = 0;
  for (const char c : message.substr(at + 6)) {
    if (c < '0' || c > '9') break;
    code = code * 10 + (c - '0');
  }
  return code;
}

constexpr int kMemoryLimit = 241;
constexpr int kTooManyBytes = 307;
constexpr int kTooManyRowsOrBytes = 396;

// Of the whole process, not of one query. The engine says it in several ways.
bool IsOutOfMemory(std::string_view message) {
  constexpr int kCannotAllocateMemory = 173;
  constexpr int kCannotStartThread = 439;
  const int code = EngineCode(message);
  return code == kCannotAllocateMemory || code == kCannotStartThread ||
         (code == kMemoryLimit && message.find("(total)") != std::string_view::npos) ||
         message.find("std::bad_alloc") != std::string_view::npos;
}

}  // namespace

bool IsOverQueryMemory(std::string_view message) {
  const int code = EngineCode(message);
  if (code == kTooManyBytes || code == kTooManyRowsOrBytes) return true;
  return code == kMemoryLimit && message.find("(total)") == std::string_view::npos;
}

bool IsUnknownTable(std::string_view message) {
  constexpr int kUnknownTable = 60;
  return EngineCode(message) == kUnknownTable;
}

bool IsStillUsed(std::string_view message) {
  constexpr int kTableAlreadyExists = 57;
  return EngineCode(message) == kTableAlreadyExists;
}

bool MayBeDamage(std::string_view message) {
  if (IsOutOfMemory(message)) return false;
  if (message.find("while reading from part") != std::string_view::npos) return true;
  constexpr std::array kCodes = {
      33,   // CANNOT_READ_ALL_DATA
      40,   // CHECKSUM_DOESNT_MATCH
      107,  // FILE_DOESNT_EXIST
      117,  // INCORRECT_DATA
      128,  // TOO_LARGE_ARRAY_SIZE
      131,  // TOO_LARGE_STRING_SIZE
      226,  // NO_FILE_IN_DATA_PART
      228,  // UNEXPECTED_FILE_IN_DATA_PART
      246,  // CORRUPTED_DATA
      271,  // CANNOT_DECOMPRESS
      432,  // UNKNOWN_CODEC
  };
  return std::ranges::find(kCodes, EngineCode(message)) != kCodes.end();
}

Error EngineError(std::string_view message) {
  if (IsOutOfMemory(message)) return ShortOfMemory();
  Code code = Code::kInternal;
  switch (EngineCode(message)) {
    case 159:  // TIMEOUT_EXCEEDED
    case kMemoryLimit:
    case kTooManyBytes:
    case kTooManyRowsOrBytes:
      code = Code::kLimit;
      break;
    case 394:  // QUERY_WAS_CANCELLED
      code = Code::kCancelled;
      break;
    case 243:  // NOT_ENOUGH_SPACE
    case 252:  // TOO_MANY_PARTS
      code = Code::kUnavailable;
      break;
    case 74:  // CANNOT_READ_FROM_FILE_DESCRIPTOR
    case 75:  // CANNOT_WRITE_TO_FILE_DESCRIPTOR
    case 76:  // CANNOT_OPEN_FILE
      code = Code::kIo;
      break;
    default:
      break;
  }
  return {code, fmt::format("engine: {}", message)};
}

}  // namespace wherefore::store
