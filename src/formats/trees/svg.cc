// FlameTree -> a standalone SVG: root on top, one row per depth, hover text in <title>. No external
// script, font or style, so that it works in a mail, a wiki or an <img>.
#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "formats/formats.h"

namespace wherefore::formats {

namespace {

constexpr double kRowHeight = 18;
constexpr double kMargin = 12;
constexpr double kHeader = 58;
constexpr double kCharWidth = 6.7;   // of 11px monospace
constexpr double kNarrowest = 0.25;  // narrower boxes are invisible
constexpr std::uint32_t kDeepest = 2000;

void AppendEscaped(std::string& out, std::string_view text) {
  const std::string valid = IsValidUtf8(text) ? std::string() : "(name is not UTF-8)";
  for (const char c : valid.empty() ? text : std::string_view(valid)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out +=
            static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // XML has no other control characters
    }
  }
}

// The first `length` characters (not bytes), with an ellipsis if something is missing.
std::string Shortened(std::string_view text, std::size_t length) {
  std::size_t characters = 0;
  std::size_t cut = 0;  // byte where the shortened text ends
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (characters + 1 == length) cut = i;
    if (++characters > length) return std::string(text.substr(0, cut)) + "…";
  }
  return std::string(text);
}

// Warm colours for user code, others by kind; the same function always has the same colour.
std::string Colour(const profile::FlameFunction& f) {
  const std::uint64_t hash = Hash64(f.name);
  const auto vary = [hash](int shift, int range) {
    return static_cast<int>((hash >> shift) % range);
  };
  int hue = 20 + vary(0, 35);
  int saturation = 78 + vary(8, 14);
  switch (f.kind) {
    case profile::FrameKind::kKernel:
      hue = 205 + vary(0, 20);
      saturation = 45;
      break;
    case profile::FrameKind::kNative:
      hue = 90 + vary(0, 30);
      saturation = 38;
      break;
    case profile::FrameKind::kJit:
      hue = 160 + vary(0, 25);
      saturation = 40;
      break;
    case profile::FrameKind::kOther:
      hue = 0;
      saturation = 0;
      break;
    case profile::FrameKind::kInlined:
    case profile::FrameKind::kUser:
      break;
  }
  return fmt::format("hsl({},{}%,{}%)", hue, saturation, 66 + vary(16, 10));
}

// Orange is worse, blue is better.
std::string_view MarkColour(std::string_view mark) {
  if (mark == "more") return "hsl(25,90%,62%)";
  return mark == "less" ? "hsl(215,75%,70%)" : "hsl(40,8%,86%)";
}

class SvgWriter {
 public:
  SvgWriter(const profile::FlameTree& tree, const SvgOptions& options)
      : tree_(tree), options_(options), width_(std::max(options.width, 300)) {}

  std::string Run() {
    std::string boxes;
    std::uint32_t deepest = 0;
    if (tree_.size() > 0 && tree_.total[0] > 0) WriteBoxes(boxes, deepest);
    const double height = kHeader + (deepest + 1) * kRowHeight + kMargin + 16;
    std::string out;
    WriteHead(out, height);
    out += boxes;
    if (hidden_ > 0) {
      out += fmt::format(
          "<text class=\"s\" x=\"{}\" y=\"{:.0f}\">{} boxes are too narrow to be drawn</text>\n",
          kMargin, height - 10, FormatCount(hidden_));
    }
    return out + "</svg>\n";
  }

 private:
  void WriteHead(std::string& out, double height) {
    out += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0} {1:.0f}\" "
        "font-family=\"ui-monospace,Menlo,Consolas,monospace\" font-size=\"11\">\n",
        width_, height);
    out +=
        "<style>.h{font:600 16px system-ui,sans-serif;fill:#222}.s{font:12px "
        "system-ui,sans-serif;fill:#666}"
        "g:hover rect{stroke:#222;stroke-width:1.2}text{pointer-events:none;fill:#1a1a1a}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fdfcfa\"/>\n";
    out += fmt::format("<text class=\"h\" x=\"{}\" y=\"26\">", kMargin);
    AppendEscaped(out, options_.title);
    out += fmt::format("</text>\n<text class=\"s\" x=\"{}\" y=\"46\">", kMargin);
    AppendEscaped(out, options_.subtitle);
    out += "</text>\n";
  }

  void WriteBoxes(std::string& out, std::uint32_t& deepest) {
    const double scale = (width_ - 2 * kMargin) / static_cast<double>(tree_.total[0]);
    // Left edge of the next child, per depth of its parent.
    std::vector<std::int64_t> next(1, 0);
    // Deeper nodes are inside a box that was not drawn.
    std::uint32_t skip_below = UINT32_MAX;
    for (std::size_t node = 0; node < tree_.size(); ++node) {
      const std::uint32_t depth = tree_.depth[node];
      if (depth > skip_below) {
        ++hidden_;
        continue;
      }
      skip_below = UINT32_MAX;
      const std::int64_t left = depth == 0 ? 0 : next[depth - 1];
      if (depth > 0) next[depth - 1] = left + tree_.total[node];
      next.resize(depth + 1);
      next[depth] = left;
      const double w = static_cast<double>(tree_.total[node]) * scale;
      if (w < kNarrowest || depth > kDeepest) {
        ++hidden_;
        skip_below = depth;
        continue;
      }
      deepest = std::max(deepest, depth);
      WriteBox(out, node, kMargin + static_cast<double>(left) * scale, w);
    }
  }

  void WriteBox(std::string& out, std::size_t node, double x, double w) {
    const profile::FlameFunction& f = tree_.functions[tree_.function[node]];
    const double y = kHeader + tree_.depth[node] * kRowHeight;
    const std::string_view name = node == 0 && f.name.empty() ? std::string_view("total") : f.name;
    const double share =
        100.0 * static_cast<double>(tree_.total[node]) / static_cast<double>(tree_.total[0]);
    out += "<g><title>";
    AppendEscaped(out, name);
    out += fmt::format("\n{} ({:.2f} %), self {}", FormatValue(tree_.total[node], tree_.unit),
                       share, FormatValue(tree_.self[node], tree_.unit));
    const std::string mark = options_.marks.empty() ? "" : options_.marks[tree_.function[node]];
    if (mark == "more" || mark == "less") out += fmt::format("\nsurely {}", mark);
    if (!f.module.empty()) {
      out += "\n";
      AppendEscaped(out, f.module);
    }
    out += fmt::format(
        "</title><rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" rx=\"2\" "
        "fill=\"{}\"/>",
        x, y, std::max(w - 0.5, 0.2), kRowHeight - 1, mark.empty() ? Colour(f) : MarkColour(mark));
    const auto room = static_cast<std::size_t>(std::max(0.0, (w - 8) / kCharWidth));
    if (room >= 3) {
      out += fmt::format("<text x=\"{:.2f}\" y=\"{:.0f}\">", x + 4, y + 12.5);
      AppendEscaped(out, Shortened(name, room));
      out += "</text>";
    }
    out += "</g>\n";
  }

  const profile::FlameTree& tree_;
  const SvgOptions& options_;
  int width_;
  std::int64_t hidden_ = 0;
};

}  // namespace

std::string EncodeSvg(const profile::FlameTree& tree, const SvgOptions& options) {
  return SvgWriter(tree, options).Run();
}

}  // namespace wherefore::formats
