// Line by line with a stack of open keys: a line's indentation says which of them it belongs to.
#include "sdk/config/yaml.h"

#include <optional>
#include <unordered_map>
#include <utility>

namespace wherefore::sdk {
namespace {

// A file of nothing but brackets must not use up the stack.
constexpr int kMaxFlowDepth = 16;

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Where the quoted text that begins at `begin` ends (one past the quote); npos when it does not.
std::size_t EndOfQuoted(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '\'' && i + 1 < text.size() && text[i + 1] == '\'') {
        ++i;
      } else {
        return i + 1;
      }
    }
  }
  return std::string_view::npos;
}

// Cuts a comment: a '#' outside quotes with a space or nothing before it.
std::string_view WithoutComment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool starts_word = i == 0 || IsSpace(line[i - 1]) || line[i - 1] == '[' ||
                             line[i - 1] == '{' || line[i - 1] == ',' || line[i - 1] == ':';
    if ((line[i] == '"' || line[i] == '\'') && starts_word) {
      const std::size_t end = EndOfQuoted(line, i);
      if (end == std::string_view::npos) return line;
      i = end - 1;
    } else if (line[i] == '#' && (i == 0 || IsSpace(line[i - 1]))) {
      return line.substr(0, i);
    }
  }
  return line;
}

std::string Unquote(std::string_view text) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'')) return std::string(text);
  const char quote = text.front();
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\' && i + 2 < text.size()) {
      const char c = text[++i];
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    } else {
      out += text[i];
      if (quote == '\'' && text[i] == '\'') ++i;
    }
  }
  return out;
}

// The position of the colon that ends a key, outside quotes; npos when the text is no "key: value".
std::size_t KeyColon(std::string_view text) {
  std::size_t i = 0;
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    i = EndOfQuoted(text, 0);
    if (i == std::string_view::npos) return i;
  }
  for (; i < text.size(); ++i) {
    if (text[i] == ':' && (i + 1 == text.size() || IsSpace(text[i + 1]))) return i;
  }
  return std::string_view::npos;
}

class Reader {
 public:
  YamlDocument Read(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf"))
      text.remove_prefix(3);  // the byte order mark of some editors
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line_ = ++number;
      ReadLine(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(document_);
  }

 private:
  struct Open {
    std::size_t indent;
    std::string key;
    bool repeated = false;
  };

  void Note(std::string text) { document_.notes.push_back({line_, std::move(text)}); }

  void ReadLine(std::string_view raw) {
    const std::string_view line = WithoutComment(raw);
    std::string_view text = Trim(line);
    if (text.empty() || text == "---" || text == "...") return;
    std::size_t indent = line.find_first_not_of(" \t");
    if (line.substr(0, indent).find('\t') != std::string_view::npos) {
      Note("a tab in the indentation; use spaces");
      return;
    }
    if (text == "-" || text.starts_with("- ")) {
      // The dash of a list may stand right under its key or deeper.
      CloseFrom(indent, true);
      text = Trim(text.substr(1));
      if (KeyColon(text) != std::string_view::npos) {
        Note("a list of mappings is not read");
      } else {
        ReadValue(text, 0);
      }
      return;
    }
    CloseFrom(indent, false);
    const std::size_t colon = KeyColon(text);
    if (colon == std::string_view::npos) {
      Note("expected 'key: value'");
      return;
    }
    OpenKey(indent, text.substr(0, colon));
    ReadValue(Trim(text.substr(colon + 1)), 0);
  }

  void OpenKey(std::size_t indent, std::string_view key) {
    const bool inside = !open_.empty() && open_.back().repeated;
    open_.push_back({indent, Unquote(Trim(key)), inside});
    std::string path;
    for (const Open& o : open_) path.append(o.key).append(1, '\0');
    const auto [first, fresh] = keys_.try_emplace(std::move(path), line_);
    if (fresh) return;
    open_.back().repeated = true;
    document_.repeated.push_back({Path(), line_, first->second, document_.scalars.size(), inside});
  }

  [[nodiscard]] std::vector<std::string> Path() const {
    std::vector<std::string> path;
    path.reserve(open_.size());
    for (const Open& o : open_) path.push_back(o.key);
    return path;
  }

  // Closes the keys this line no longer belongs to. A list item keeps the key at its own column.
  void CloseFrom(std::size_t indent, bool item) {
    while (!open_.empty() && open_.back().indent >= indent + (item ? 1 : 0)) open_.pop_back();
  }

  void ReadValue(std::string_view text, int depth) {
    if (text.empty()) return;
    const char first = text.front();
    if (first == '|' || first == '>' || first == '&' || first == '*' || first == '!') {
      Note(std::string("'") + first + "' values are not read");
    } else if (first == '[' || first == '{') {
      ReadFlow(text, depth);
    } else if (first == '"' || first == '\'') {
      if (EndOfQuoted(text, 0) != text.size()) {
        Note("text after, or no end of, a quoted value");
      } else {
        Emit(Unquote(text));
      }
    } else {
      Emit(std::string(text));
    }
  }

  // "[a, b]" or "{a: b}" on one line.
  void ReadFlow(std::string_view text, int depth) {
    const bool map = text.front() == '{';
    if (text.size() < 2 || text.back() != (map ? '}' : ']') || depth >= kMaxFlowDepth) {
      Note(map ? "a '{' must end with '}' on the same line"
               : "a '[' must end with ']' on the same line");
      return;
    }
    for (std::string_view part : SplitFlow(text.substr(1, text.size() - 2))) {
      part = Trim(part);
      if (part.empty()) continue;
      if (!map) {
        ReadValue(part, depth + 1);
        continue;
      }
      const std::size_t colon = KeyColon(part);
      if (colon == std::string_view::npos) {
        Note("expected 'key: value' inside '{}'");
        continue;
      }
      OpenKey(open_.empty() ? 0 : open_.back().indent, part.substr(0, colon));
      ReadValue(Trim(part.substr(colon + 1)), depth + 1);
      open_.pop_back();
    }
  }

  static std::vector<std::string_view> SplitFlow(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"' || text[i] == '\'') {
        const std::size_t end = EndOfQuoted(text, i);
        if (end == std::string_view::npos) break;
        i = end - 1;
      } else if (text[i] == '[' || text[i] == '{') {
        ++depth;
      } else if (text[i] == ']' || text[i] == '}') {
        --depth;
      } else if (text[i] == ',' && depth == 0) {
        parts.push_back(text.substr(begin, i - begin));
        begin = i + 1;
      }
    }
    parts.push_back(text.substr(begin));
    return parts;
  }

  void Emit(std::string value) { document_.scalars.push_back({Path(), std::move(value), line_}); }

  YamlDocument document_;
  std::vector<Open> open_;
  std::unordered_map<std::string, int> keys_;  // the line of each, by its path
  int line_ = 0;
};

}  // namespace

YamlDocument ReadYaml(std::string_view text) {
  return Reader().Read(text);
}

}  // namespace wherefore::sdk
