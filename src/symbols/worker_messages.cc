#include "symbols/worker_messages.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "elf/byte_reader.h"

namespace wherefore::symbols {
namespace {

constexpr std::uint32_t kMaxMessage = 256u << 20;
constexpr std::uint32_t kMaxSegments = 65'535;

bool WaitFor(int socket, short events, std::int64_t deadline_ns) {
  while (true) {
    const std::int64_t left_ms =
        deadline_ns == kForEver ? -1 : (deadline_ns - MonotonicNs() + 999'999) / 1'000'000;
    if (deadline_ns != kForEver && left_ms <= 0) return false;
    pollfd waiting{socket, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left_ms));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool SendAll(int socket, std::string_view bytes, std::int64_t deadline_ns) {
  while (!bytes.empty()) {
    if (!WaitFor(socket, POLLOUT, deadline_ns)) return false;
    const ssize_t n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool ReceiveAll(int socket, void* to, std::size_t size, std::int64_t deadline_ns) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    if (!WaitFor(socket, POLLIN, deadline_ns)) return false;
    const ssize_t n = recv(socket, at, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

template <typename Number>
void AppendNumber(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void AppendText(std::string& out, std::string_view text) {
  out.append(text.substr(0, text.find('\0'))).push_back('\0');
}

Error Damaged() {
  return {Code::kCorrupt, "symbols: a damaged answer"};
}

// Reads after the first byte of a successful answer.
Result<elf::ByteReader> OpenAnswer(std::string_view answer) {
  elf::ByteReader reader({reinterpret_cast<const std::uint8_t*>(answer.data()), answer.size()});
  const auto there = reader.Read<std::uint8_t>();
  if (reader.failed() || there > 1) return Damaged();
  if (there == 1) return reader;
  const std::string why(reader.CString());
  if (reader.failed()) return Damaged();
  return Error(Code::kNotFound, why);
}

}  // namespace

bool WaitToRead(int socket, std::int64_t deadline_ns) {
  return WaitFor(socket, POLLIN, deadline_ns);
}

bool SendMessage(int socket, std::string_view message, std::int64_t deadline_ns) {
  const auto size = static_cast<std::uint32_t>(message.size());
  return SendAll(socket, {reinterpret_cast<const char*>(&size), sizeof size}, deadline_ns) &&
         SendAll(socket, message, deadline_ns);
}

bool ReceiveMessage(int socket, std::string& message, std::int64_t deadline_ns) {
  std::uint32_t size = 0;
  if (!ReceiveAll(socket, &size, sizeof size, deadline_ns) || size > kMaxMessage) return false;
  message.resize(size);
  return ReceiveAll(socket, message.data(), size, deadline_ns);
}

std::string Encode(const FindRequest& request) {
  std::string out = "f";
  AppendText(out, request.build_id);
  AppendText(out, request.path);
  for (const std::string& folder : request.search_path) AppendText(out, folder);
  return out;
}

std::string Encode(const ResolveRequest& request) {
  std::string out = "r";
  AppendText(out, request.build_id);
  AppendText(out, request.program);
  AppendText(out, request.debug);
  out.append(reinterpret_cast<const char*>(request.addresses.data()),
             request.addresses.size_bytes());
  return out;
}

std::string EncodeError(std::string_view why) {
  std::string out(1, '\0');
  AppendText(out, why);
  return out;
}

std::string EncodeFiles(const ModuleFiles& files) {
  std::string out(1, '\1');
  AppendText(out, files.program);
  AppendText(out, files.debug);
  AppendNumber(out, static_cast<std::uint32_t>(files.segments.size()));
  for (const elf::Segment& segment : files.segments) {
    for (const std::uint64_t number :
         {segment.offset, segment.address, segment.file_size, segment.memory_size}) {
      AppendNumber(out, number);
    }
    AppendNumber(out, static_cast<std::uint8_t>(segment.executable));
  }
  return out;
}

Result<ModuleFiles> DecodeFiles(std::string_view answer) {
  WHEREFORE_ASSIGN_OR_RETURN(elf::ByteReader reader, OpenAnswer(answer));
  ModuleFiles files{.program = std::string(reader.CString()),
                    .debug = std::string(reader.CString())};
  const auto count = reader.Read<std::uint32_t>();
  if (count > kMaxSegments) return Damaged();
  for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
    files.segments.push_back({.offset = reader.Read<std::uint64_t>(),
                              .address = reader.Read<std::uint64_t>(),
                              .file_size = reader.Read<std::uint64_t>(),
                              .memory_size = reader.Read<std::uint64_t>(),
                              .executable = reader.Read<std::uint8_t>() != 0});
  }
  if (reader.failed()) return Damaged();
  return files;
}

std::string EncodeFrames(const std::vector<ResolvedFrame>& frames) {
  std::string out(1, '\1');
  for (const ResolvedFrame& frame : frames) {
    AppendNumber(out, static_cast<std::uint32_t>(frame.size()));
    for (const ResolvedLine& line : frame) {
      AppendText(out, line.name);
      AppendText(out, line.system_name);
      AppendText(out, line.file);
      AppendNumber(out, line.line);
      AppendNumber(out, line.column);
      AppendNumber(out, line.start_line);
    }
  }
  return out;
}

Result<std::vector<ResolvedFrame>> DecodeFrames(std::string_view answer, std::size_t count) {
  WHEREFORE_ASSIGN_OR_RETURN(elf::ByteReader reader, OpenAnswer(answer));
  std::vector<ResolvedFrame> frames(count);
  for (ResolvedFrame& frame : frames) {
    const auto lines = reader.Read<std::uint32_t>();
    if (lines > kMaxLinesPerAddress) return Damaged();
    for (std::uint32_t i = 0; i < lines && !reader.failed(); ++i) {
      ResolvedLine& line = frame.emplace_back();
      line.name = reader.CString();
      line.system_name = reader.CString();
      line.file = reader.CString();
      line.line = reader.Read<std::uint32_t>();
      line.column = reader.Read<std::uint32_t>();
      line.start_line = reader.Read<std::uint32_t>();
    }
  }
  if (reader.failed()) return Damaged();
  return frames;
}

}  // namespace wherefore::symbols
