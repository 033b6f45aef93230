#include "insight/rules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "query/selector.h"
#include "settings/fields.h"
#include "settings/yaml.h"

namespace wherefore::insight {

using namespace settings;  // tables of keys

namespace {

Result<Pattern> ReadPattern(const Node& node) {
  WHEREFORE_ASSIGN_OR_RETURN(std::string text, ReadText(node));
  WHEREFORE_ASSIGN_OR_RETURN(auto regex, query::CompileRegex(text));
  return Pattern{.regex = std::move(regex), .text = std::move(text)};
}

// One match, or a list of them.
void ReadMatch(const Entry& entry, Rule& rule, Problems& problems);

Result<double> ReadShareOfOne(const Node& node) {
  WHEREFORE_ASSIGN_OR_RETURN(const double share, ReadShare(node));
  if (share < 0 || share > 1) return Error(Code::kInvalid, "expected a share from 0 % to 100 %");
  return share;
}

struct AtLeast {
  double share = 0;
  std::int64_t observations = 20;
  double cores = Rule().at_least_cores;
};

struct OneMatch {
  FrameMatch frames;
  Detector detector = Detector::kNone;
};

const Fields<OneMatch>& MatchFields() {
  const auto pattern = [](Pattern FrameMatch::* member) {
    return Scalar(In(&OneMatch::frames, member), ReadPattern);
  };
  static const Fields<OneMatch> fields = {
      {"frame", pattern(&FrameMatch::frame)},
      {"file", pattern(&FrameMatch::file)},
      {"module", pattern(&FrameMatch::module)},
      {"kind", pattern(&FrameMatch::kind)},
      {"under", pattern(&FrameMatch::under)},
      {"not_under", pattern(&FrameMatch::not_under)},
      {"detector", Choice(&OneMatch::detector,
                          std::vector<std::pair<std::string_view, Detector>>{
                              {"dominant", Detector::kDominant},
                              {"recursion", Detector::kRecursion},
                              {"deep", Detector::kDeep},
                              {"repeated", Detector::kRepeated},
                              {"lock-convoy", Detector::kLockConvoy},
                              {"n-plus-one", Detector::kNPlusOne}})},
  };
  return fields;
}

const Fields<AtLeast>& AtLeastFields() {
  static const Fields<AtLeast> fields = {
      {"share", Scalar(&AtLeast::share, ReadShareOfOne)},
      {"observations", Whole(&AtLeast::observations, 1)},
      {"cores", Real(&AtLeast::cores, 0, 1e6)},
  };
  return fields;
}

const Fields<Rule>& RuleFields() {
  static const Fields<Rule> fields = {
      {"id", Text(&Rule::id)},
      {"title", Text(&Rule::title)},
      {"language", OneOf(&Rule::language, {"cpp", "go", "java", "python", "nodejs", "rust",
                                           "dotnet", "ruby", "php"})},
      {"type", Text(&Rule::type)},
      {"match", ReadMatch},
      {"measure", Choice(&Rule::measure,
                         std::vector<std::pair<std::string_view, MeasureOf>>{
                             {"total", MeasureOf::kTotal}, {"self", MeasureOf::kSelf}})},
      {"at_least",
       [](const Entry& entry, Rule& rule, Problems& problems) {
         AtLeast least;
         if (!ExpectMap(entry.value, entry.key, problems)) return;
         ReadMap(entry.value, AtLeastFields(), least, problems);
         rule.at_least_share = least.share;
         rule.at_least_observations = least.observations;
         rule.at_least_cores = least.cores;
       }},
      {"saving", Scalar(&Rule::saving, ReadShareOfOne)},
      {"fix", Text(&Rule::fix)},
      {"enabled", Flag(&Rule::enabled)},
  };
  return fields;
}

bool IsEmpty(const FrameMatch& m) {
  return !m.frame.set() && !m.file.set() && !m.module.set() && !m.kind.set();
}

void AddMatch(const Node& node, Rule& rule, Problems& problems) {
  OneMatch match;
  if (!ExpectMap(node, "match", problems)) return;
  ReadMap(node, MatchFields(), match, problems);
  if (match.detector != Detector::kNone) {
    if (!IsEmpty(match.frames) || match.frames.under.set() || match.frames.not_under.set())
      problems.Fail(node.place, "`match`: a detector stands alone");
    rule.detector = match.detector;
  } else if (IsEmpty(match.frames)) {
    problems.Fail(node.place, "`match`: expected `frame`, `file`, `module`, `kind` or `detector`");
  } else {
    rule.match.push_back(std::move(match.frames));
  }
}

void ReadMatch(const Entry& entry, Rule& rule, Problems& problems) {
  if (entry.value.kind != Node::Kind::kList) {
    AddMatch(entry.value, rule, problems);
    return;
  }
  for (const Node& item : entry.value.items) AddMatch(item, rule, problems);
}

// What a rule cannot do without. One that is only switched off needs no more than its id.
void CheckRule(const Node& node, const Rule& rule, Problems& problems) {
  if (rule.id.empty()) problems.Fail(node.place, "a rule needs an `id`");
  if (!rule.enabled) return;
  const auto need = [&](bool there, std::string_view key) {
    if (!there) problems.Fail(node.place, fmt::format("rule `{}` needs `{}`", rule.id, key));
  };
  need(!rule.title.empty(), "title");
  need(!rule.match.empty() || rule.detector != Detector::kNone, "match");
  need(rule.at_least_share > 0, "at_least.share");
  need(!rule.fix.empty(), "fix");
  if (!rule.match.empty() && rule.detector != Detector::kNone)
    problems.Fail(node.place, fmt::format("rule `{}`: frames or a detector, not both", rule.id));
}

Result<std::string> ReadWholeFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error(Code::kNotFound, path.string() + " cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Take(std::vector<Rule> from, std::vector<Rule>& rules) {
  for (Rule& rule : from) {
    const auto known = std::ranges::find(rules, rule.id, &Rule::id);
    if (known != rules.end()) {
      *known = std::move(rule);
    } else {
      rules.push_back(std::move(rule));
    }
  }
}

}  // namespace

std::vector<Rule> ReadRules(std::string_view text, std::string_view file, Problems& problems) {
  std::vector<Rule> rules;
  const std::optional<Node> root = ParseYaml(text, file, problems);
  if (!root || root->is_null() || !ExpectList(*root, "rules", problems)) return rules;
  std::set<std::string, std::less<>> ids;
  for (const Node& item : root->items) {
    Rule rule{.place = item.place.Text()};
    if (!ExpectMap(item, "rule", problems)) continue;
    ReadMap(item, RuleFields(), rule, problems);
    CheckRule(item, rule, problems);
    if (!rule.id.empty() && !ids.insert(rule.id).second)
      problems.Fail(item.place, fmt::format("a second rule `{}`", rule.id));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<std::vector<Rule>> LoadRules(const std::string& folder) {
  std::vector<Rule> rules;
  Problems problems;
  for (const ShippedFile& file : ShippedFiles())
    Take(ReadRules(file.text, file.name, problems), rules);
  std::vector<std::filesystem::path> files;
  if (!folder.empty()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const auto extension = entry.path().extension();
      if (extension == ".yaml" || extension == ".yml") files.push_back(entry.path());
    }
    if (error)
      return Error(Code::kNotFound, fmt::format("folder of rules {}: {}", folder, error.message()));
  }
  std::ranges::sort(files);
  for (const auto& path : files) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
    Take(ReadRules(text, path.string(), problems), rules);
  }
  if (problems.failed()) return problems.error();
  std::erase_if(rules, [](const Rule& rule) { return !rule.enabled; });
  return rules;
}

}  // namespace wherefore::insight
