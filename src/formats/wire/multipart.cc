#include "formats/wire/multipart.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/ascii.h"

namespace wherefore::formats {
namespace {

constexpr std::size_t kMaxParts = 100;

// The value of `name` in a header such as `form-data; name="jfr"; filename="x"`.
std::optional<std::string> Parameter(std::string_view header, std::string_view name) {
  std::size_t at = header.find(';');
  while (at < header.size()) {
    std::string_view rest = Trim(header.substr(at + 1));
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const bool wanted = Lower(Trim(rest.substr(0, equals))) == name;
    rest = rest.substr(equals + 1);
    std::string value;
    std::size_t end = 0;
    if (rest.starts_with('"')) {
      for (end = 1; end < rest.size() && rest[end] != '"'; ++end) {
        if (rest[end] == '\\' && end + 1 < rest.size()) ++end;
        value += rest[end];
      }
      end = std::min(end + 1, rest.size());
    } else {
      end = std::min(rest.find(';'), rest.size());
      value = Trim(rest.substr(0, end));
    }
    if (wanted) return value;
    header = rest.substr(end);
    at = header.find(';');
  }
  return std::nullopt;
}

// Reads a part's header lines; false if it is not form data.
bool ReadHead(std::string_view head, Part& part) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head = head.substr(std::min(end + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    if (Lower(Trim(line.substr(0, colon))) != "content-disposition") continue;
    const std::string_view value = Trim(line.substr(colon + 1));
    const std::optional<std::string> name = Parameter(value, "name");
    if (!Lower(value).starts_with("form-data") || !name) return false;
    part.name = *name;
    part.filename = Parameter(value, "filename").value_or("");
    return true;
  }
  return false;
}

Error Corrupt(std::string_view what) {
  return {Code::kCorrupt, fmt::format("multipart body: {}", what)};
}

}  // namespace

Result<std::vector<Part>> ParseMultipart(std::string_view body, std::string_view content_type) {
  const std::optional<std::string> boundary = Parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > 200) {
    return Corrupt("the content type names no boundary");
  }
  const std::string first = "--" + *boundary;
  const std::string next = "\r\n" + first;
  std::size_t at = body.starts_with(first) ? 0 : body.find(next);
  if (at == std::string_view::npos) return Corrupt("its boundary does not occur in it");
  at += body.starts_with(first) ? first.size() : next.size();
  std::vector<Part> parts;
  while (!body.substr(at).starts_with("--")) {
    if (parts.size() == kMaxParts) return Corrupt("more than 100 parts");
    const std::size_t line_end = body.find("\r\n", at);
    const std::size_t head_end =
        line_end == std::string_view::npos ? line_end : body.find("\r\n\r\n", line_end);
    if (head_end == std::string_view::npos) return Corrupt("it ends in the header of a part");
    Part& part = parts.emplace_back();
    // Without header lines both positions coincide.
    const std::size_t head_begin = std::min(line_end + 2, head_end);
    if (!ReadHead(body.substr(head_begin, head_end - head_begin), part)) {
      return Corrupt(fmt::format("part {} has no form-data name", parts.size() - 1));
    }
    const std::size_t begin = head_end + 4;
    const std::size_t end = body.find(next, begin);
    if (end == std::string_view::npos) {
      return Corrupt(fmt::format("part \"{}\" does not end", part.name.substr(0, 100)));
    }
    part.bytes = body.substr(begin, end - begin);
    at = end + next.size();
  }
  return parts;
}

}  // namespace wherefore::formats
