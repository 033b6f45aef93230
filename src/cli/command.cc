#include "cli/command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/text.h"
#include "profile/shown_name.h"

namespace wherefore::cli {

int Fail(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.message());
  return error.code() == Code::kInvalid ? kUsage : kFailed;
}

CLI::App* NewCommand(CLI::App& app, const std::string& name, const std::string& what,
                     const std::vector<std::string>& examples) {
  CLI::App* command = app.add_subcommand(name, what);
  std::string footer = "EXAMPLES\n";
  for (const std::string& example : examples) footer += "  " + example + "\n";
  footer += "\nEXIT STATUS\n  0 fine, 1 found something, 2 usage, 3 server or I/O error\n";
  command->footer(footer);
  command->fallthrough();
  return command;
}

int TerminalWidth() {
  if (const char* columns = std::getenv("COLUMNS")) {  // NOLINT(concurrency-mt-unsafe): one thread
    if (const auto n = ParseInt(columns); n && *n >= 20 && *n < 10'000) return static_cast<int>(*n);
  }
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 100;
}

std::size_t ScreenWidth(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return width;
}

std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string Fit(std::string_view raw, std::size_t width) {
  std::string text = Printable(raw);
  if (ScreenWidth(text) <= width) return text;
  if (width == 0) return {};
  std::size_t kept = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (starts && kept++ == width - 1) break;
    ++end;
  }
  return text.substr(0, end) + "…";
}

std::string FitName(std::string_view name, std::size_t width) {
  return Fit(profile::FittingName(name, width), width);
}

Result<std::string> ReadFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return Error(Code::kIo, path + ": is a folder, expected a file");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Error(Code::kIo, fmt::format("{}: {}", path,
                                        std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
  std::string bytes;
  std::array<char, 65536> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
  while (in.read(part.data(), part.size()) || in.gcount() > 0) {
    bytes.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) return Error(Code::kIo, fmt::format("{}: cannot be read", path));
  return bytes;
}

CLI::Validator AsShare() {
  return {[](std::string& text) -> std::string {
            if (!text.ends_with('%')) return "";
            try {
              std::size_t end = 0;
              const double percent = std::stod(text, &end);
              if (end + 1 != text.size()) return "expected a share, as 2% or 0.02";
              text = fmt::format("{}", percent / 100);
            } catch (const std::exception&) {
              return "expected a share, as 2% or 0.02";
            }
            return "";
          },
          "SHARE"};
}

}  // namespace wherefore::cli
