#include "gateway/relabel.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include "base/hash.h"

namespace wherefore::gateway {
namespace {

constexpr std::array<std::pair<std::string_view, RelabelRule::Action>, 11> kActions = {{
    {"replace", RelabelRule::Action::kReplace},
    {"keep", RelabelRule::Action::kKeep},
    {"drop", RelabelRule::Action::kDrop},
    {"keepequal", RelabelRule::Action::kKeepEqual},
    {"dropequal", RelabelRule::Action::kDropEqual},
    {"hashmod", RelabelRule::Action::kHashMod},
    {"labelmap", RelabelRule::Action::kLabelMap},
    {"labeldrop", RelabelRule::Action::kLabelDrop},
    {"labelkeep", RelabelRule::Action::kLabelKeep},
    {"lowercase", RelabelRule::Action::kLowercase},
    {"uppercase", RelabelRule::Action::kUppercase},
}};

std::string Cased(std::string text, int (*convert)(int)) {
  std::ranges::transform(text, text.begin(),
                         [convert](unsigned char c) { return static_cast<char>(convert(c)); });
  return text;
}

// Replaces "$1", "${1}" and "${name}" in `text` by the group's content.
std::string Expand(const re2::RE2& regex, const std::string& text,
                   const std::vector<re2::StringPiece>& groups) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += text[++i];
      continue;
    }
    const bool braces = text[i + 1] == '{';
    const std::size_t begin = i + (braces ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    const std::string name = text.substr(begin, end - begin);
    const bool number = !name.empty() && name.size() < 4 &&
                        std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c); });
    const auto& names = regex.NamedCapturingGroups();
    const auto named = names.find(name);
    const std::size_t group = number                 ? std::stoul(name)
                              : named != names.end() ? static_cast<std::size_t>(named->second)
                                                     : groups.size();
    if (group < groups.size()) out.append(groups[group].data(), groups[group].size());
    i = end - (braces && end < text.size() && text[end] == '}' ? 0 : 1);
  }
  return out;
}

// The groups of a full match; empty if it does not match.
std::vector<re2::StringPiece> Match(const re2::RE2& regex, const std::string& text) {
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(regex.NumberOfCapturingGroups()) +
                                       1);
  const bool matched = regex.Match(text, 0, text.size(), re2::RE2::ANCHOR_BOTH, groups.data(),
                                   static_cast<int>(groups.size()));
  if (!matched) groups.clear();
  return groups;
}

}  // namespace

Result<RelabelRule> RelabelRule::Make(Spec spec) {
  RelabelRule rule;
  const auto action = std::ranges::find(kActions, Cased(spec.action, std::tolower),
                                        [](const auto& entry) { return entry.first; });
  if (action == kActions.end()) {
    return Error(Code::kInvalid, fmt::format("action: there is no \"{}\"", spec.action));
  }
  rule.action_ = action->second;
  auto regex = std::make_shared<re2::RE2>(spec.regex, re2::RE2::Quiet);
  if (!regex->ok()) return Error(Code::kInvalid, fmt::format("regex: {}", regex->error()));
  rule.regex_ = std::move(regex);
  const bool needs_target = rule.action_ != Action::kKeep && rule.action_ != Action::kDrop &&
                            rule.action_ != Action::kLabelMap &&
                            rule.action_ != Action::kLabelDrop &&
                            rule.action_ != Action::kLabelKeep;
  if (needs_target && spec.target_label.empty()) {
    return Error(Code::kInvalid, fmt::format("target_label: \"{}\" needs one", spec.action));
  }
  if (rule.action_ == Action::kHashMod && spec.modulus == 0) {
    return Error(Code::kInvalid, "modulus: \"hashmod\" needs one above 0");
  }
  rule.spec_ = std::move(spec);
  return rule;
}

std::string RelabelRule::Source(const LabelMap& labels) const {
  std::vector<std::string_view> values;
  for (const std::string& name : spec_.source_labels) {
    const auto it = labels.find(name);
    values.push_back(it == labels.end() ? std::string_view() : std::string_view(it->second));
  }
  return fmt::format("{}", fmt::join(values, spec_.separator));
}

void RelabelRule::Replace(LabelMap& labels, const std::string& source) const {
  const std::vector<re2::StringPiece> groups = Match(*regex_, source);
  if (groups.empty()) return;
  const std::string target = Expand(*regex_, spec_.target_label, groups);
  const std::string value = Expand(*regex_, spec_.replacement, groups);
  if (target.empty()) return;
  if (value.empty()) {
    labels.erase(target);
  } else {
    labels[target] = value;
  }
}

void RelabelRule::MapNames(LabelMap& labels) const {
  LabelMap added;
  for (const auto& [name, value] : labels) {
    const std::vector<re2::StringPiece> groups = Match(*regex_, name);
    if (!groups.empty()) added[Expand(*regex_, spec_.replacement, groups)] = value;
  }
  for (auto& [name, value] : added) labels[name] = std::move(value);
}

bool RelabelRule::Apply(LabelMap& labels) const {
  const std::string source = Source(labels);
  const auto target = labels.find(spec_.target_label);
  const std::string target_value = target == labels.end() ? "" : target->second;
  switch (action_) {
    case Action::kReplace:
      Replace(labels, source);
      return true;
    case Action::kKeep:
      return re2::RE2::FullMatch(source, *regex_);
    case Action::kDrop:
      return !re2::RE2::FullMatch(source, *regex_);
    case Action::kKeepEqual:
      return source == target_value;
    case Action::kDropEqual:
      return source != target_value;
    case Action::kHashMod:
      labels[spec_.target_label] = std::to_string(Hash64(source) % spec_.modulus);
      return true;
    case Action::kLabelMap:
      MapNames(labels);
      return true;
    case Action::kLabelDrop:
      std::erase_if(labels, [&](const auto& l) { return re2::RE2::FullMatch(l.first, *regex_); });
      return true;
    case Action::kLabelKeep:
      std::erase_if(labels, [&](const auto& l) { return !re2::RE2::FullMatch(l.first, *regex_); });
      return true;
    case Action::kLowercase:
      labels[spec_.target_label] = Cased(source, std::tolower);
      return true;
    case Action::kUppercase:
      labels[spec_.target_label] = Cased(source, std::toupper);
      return true;
  }
  return true;
}

bool Relabel(const std::vector<RelabelRule>& rules, LabelMap& labels) {
  return std::ranges::all_of(rules, [&](const RelabelRule& rule) { return rule.Apply(labels); });
}

}  // namespace wherefore::gateway
