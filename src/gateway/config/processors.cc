// The processors' tables.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "gateway/config/component_tables.h"
#include "gateway/process/attribute_actions.h"
#include "gateway/process/filter.h"
#include "gateway/process/memory_limiter.h"
#include "gateway/process/rate_limit.h"
#include "gateway/process/redact.h"
#include "gateway/process/sampler.h"
#include "settings/fields.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 60;

void ReadBatch(const Node& node, ProcessorConfig& out, Problems& problems) {
  static const Fields<BatchOptions> kFields = {
      {"timeout", Duration(&BatchOptions::timeout_ns)},
      {"send_batch_size", Whole(&BatchOptions::min_size, 0, kLargest)},
      {"send_batch_max_size", Whole(&BatchOptions::max_size, 0, kLargest)},
      {"metadata_keys", Ignored("requests of different tenants are never joined")},
      {"metadata_cardinality_limit", Ignored("requests of different tenants are never joined")},
  };
  BatchOptions& options = out.batch.emplace();
  ReadMap(node, kFields, options, problems);
  if (options.max_size != 0 && options.max_size < options.min_size) {
    problems.Fail(out.place, "`send_batch_max_size` is below `send_batch_size`");
  }
}

void ReadMemoryLimiter(const Node& node, ProcessorConfig& out, Problems& problems) {
  using Options = MemoryLimiter::Options;
  static const Fields<Options> kFields = {
      {"check_interval", Duration(&Options::check_interval_ns)},
      {"limit_mib", Whole(&Options::limit_mib)},
      {"limit_percentage", Real(&Options::limit_percentage, 0, 100)},
      {"spike_limit_mib", Whole(&Options::spike_limit_mib)},
      {"spike_limit_percentage", Real(&Options::spike_limit_percentage, 0, 100)},
  };
  Options options;
  ReadMap(node, kFields, options, problems);
  if (options.check_interval_ns == 0) {
    problems.Fail(out.place, fmt::format("`{}` needs `check_interval`, such as 1s", out.id));
  }
  if (options.limit_mib == 0 && options.limit_percentage == 0) {
    problems.Fail(out.place, fmt::format("`{}` needs `limit_mib` or `limit_percentage`", out.id));
  }
  if (options.limit_mib != 0 && options.spike_limit_mib >= options.limit_mib) {
    problems.Fail(out.place, "`spike_limit_mib` is not below `limit_mib`");
  }
  out.make = [options] { return std::make_unique<MemoryLimiter>(options, AnonymousBytes); };
}

// The value an action writes, with YAML's type.
AttributeAction::Value ActionValue(const Node& node) {
  if (!node.quoted) {
    if (const auto flag = ReadFlag(node)) return *flag;
    if (const auto whole = ParseInt(node.text)) return *whole;
    double real = 0;
    const char* const end = node.text.data() + node.text.size();
    const auto read = std::from_chars(node.text.data(), end, real);
    if (read.ec == std::errc() && read.ptr == end) return real;
  }
  return node.text;
}

template <typename Member>
auto TypedValue(Member member) {
  return Scalar(member, [](const Node& node) -> Result<AttributeAction::Value> {
    if (node.kind != Node::Kind::kScalar) {
      return Error(Code::kInvalid, "expected text, a number, true or false");
    }
    return ActionValue(node);
  });
}

template <typename Member>
auto Pattern(Member member) {
  return Scalar(member, [](const Node& node) -> Result<std::shared_ptr<const re2::RE2>> {
    auto compiled = std::make_shared<const re2::RE2>(node.text, RE2::Quiet);
    if (node.kind == Node::Kind::kScalar && compiled->ok()) return compiled;
    return Error(Code::kInvalid, "expected a regular expression");
  });
}

const Fields<AttributeAction>& ActionFields() {
  using Kind = AttributeAction::Kind;
  using Type = profile::Value::Kind;
  static const Fields<AttributeAction> kFields = {
      {"key", Text(&AttributeAction::key)},
      {"value", TypedValue(&AttributeAction::value)},
      {"from_attribute", Text(&AttributeAction::from_attribute)},
      {"default_value", TypedValue(&AttributeAction::default_value)},
      {"pattern", Pattern(&AttributeAction::pattern)},
      {"converted_type",
       Choice(&AttributeAction::converted_type,
              std::vector<std::pair<std::string_view, Type>>{
                  {"int", Type::kInt}, {"double", Type::kDouble}, {"string", Type::kString}})},
      {"action",
       Choice(&AttributeAction::kind,
              std::vector<std::pair<std::string_view, Kind>>{{"insert", Kind::kInsert},
                                                             {"update", Kind::kUpdate},
                                                             {"upsert", Kind::kUpsert},
                                                             {"delete", Kind::kDelete},
                                                             {"hash", Kind::kHash},
                                                             {"extract", Kind::kExtract},
                                                             {"convert", Kind::kConvert}})},
  };
  return kFields;
}

// What is wrong with an action as a whole; empty: nothing.
std::string_view Fault(const AttributeAction& a) {
  using Kind = AttributeAction::Kind;
  const bool by_pattern = a.kind == Kind::kDelete || a.kind == Kind::kHash;
  if (a.key.empty() && !(by_pattern && a.pattern)) return "an action needs a `key`";
  switch (a.kind) {
    case Kind::kInsert:
    case Kind::kUpdate:
    case Kind::kUpsert:
      return a.value || !a.from_attribute.empty() ? "" : "needs `value` or `from_attribute`";
    case Kind::kExtract:
      return a.pattern && !a.pattern->NamedCapturingGroups().empty()
                 ? ""
                 : "extract needs a `pattern` with named groups: (?P<name>...)";
    case Kind::kConvert:
      return a.converted_type == profile::Value::Kind::kEmpty
                 ? "convert needs `converted_type`: int, double or string"
                 : "";
    case Kind::kDelete:
    case Kind::kHash:
      break;
  }
  return "";
}

struct WrittenActions {
  std::vector<AttributeAction> actions;
};

void ReadActions(const Node& node, std::string_view list, AttributeActions::Where where,
                 ProcessorConfig& out, Problems& problems) {
  const Fields<WrittenActions> fields = {{list, Maps(&WrittenActions::actions, ActionFields())}};
  WrittenActions written;
  ReadMap(node, fields, written, problems);
  for (const AttributeAction& action : written.actions) {
    if (const std::string_view fault = Fault(action); !fault.empty()) {
      problems.Fail(out.place, fmt::format("`{}`: {}: {}", out.id, action.key, fault));
    }
  }
  out.make = [where, actions = std::move(written.actions)] {
    return std::make_unique<AttributeActions>(where, actions);
  };
}

void ReadResource(const Node& node, ProcessorConfig& out, Problems& problems) {
  ReadActions(node, "attributes", AttributeActions::Where::kResources, out, problems);
}

void ReadAttributes(const Node& node, ProcessorConfig& out, Problems& problems) {
  ReadActions(node, "actions", AttributeActions::Where::kItems, out, problems);
}

template <typename Member>
auto Conditions(Member member, Condition::Context context) {
  return [member, context](const Entry& entry, auto& out, Problems& problems) {
    if (!ExpectList(entry.value, entry.key, problems)) return;
    for (const Node& item : entry.value.items) {
      const auto text = ReadText(item);
      auto condition = text ? Condition::Parse(*text, context) : Result<Condition>(text.error());
      if (condition) {
        std::invoke(member, out).push_back(*std::move(condition));
      } else {
        problems.Fail(item.place, fmt::format("`{}`: {}", entry.key, condition.error().message()));
      }
    }
  };
}

struct WrittenFilter {
  Filter::Options options;
  std::string error_mode;  // has nothing to say: conditions cannot fail while they run
};

void ReadFilter(const Node& node, ProcessorConfig& out, Problems& problems) {
  using Options = Filter::Options;
  constexpr Condition::Context kSpans{.spans = true};
  constexpr Condition::Context kBareSpans{.spans = true, .bare = true};
  constexpr Condition::Context kBareProfiles{.bare = true};
  static const Fields<Options> kTraces = {{"span", Conditions(&Options::spans, kBareSpans)}};
  static const Fields<Options> kProfiles = {
      {"profile", Conditions(&Options::profiles, kBareProfiles)}};
  static const Fields<WrittenFilter> kFields = {
      {"error_mode", OneOf(&WrittenFilter::error_mode, {"ignore", "silent", "propagate"})},
      {"trace_conditions", Conditions(In(&WrittenFilter::options, &Options::spans), kSpans)},
      {"profile_conditions", Conditions(In(&WrittenFilter::options, &Options::profiles), {})},
      {"traces", Nested(&WrittenFilter::options, kTraces)},
      {"profiles", Nested(&WrittenFilter::options, kProfiles)},
  };
  WrittenFilter written;
  ReadMap(node, kFields, written, problems);
  out.make = [options = std::move(written.options)] { return std::make_unique<Filter>(options); };
}

void ReadSampler(const Node& node, ProcessorConfig& out, Problems& problems) {
  using Options = ProbabilisticSampler::Options;
  static const Fields<Options> kFields = {
      {"sampling_percentage", Real(&Options::percentage, 0, 100)},
      {"hash_seed", Whole(&Options::hash_seed, 0, 0xffffffff)},
  };
  Options options;
  ReadMap(node, kFields, options, problems);
  if (node.Find("sampling_percentage") == nullptr) {
    problems.Fail(out.place, fmt::format("`{}` needs `sampling_percentage`; without it nothing "
                                         "would be kept",
                                         out.id));
  }
  out.traces_only = true;
  out.make = [options] { return std::make_unique<ProbabilisticSampler>(options); };
}

void ReadRedact(const Node& node, ProcessorConfig& out, Problems& problems) {
  using Options = RedactRules::Options;
  static const Fields<Options> kFields = {
      {"patterns", Texts(&Options::patterns)},
      {"allow", Texts(&Options::allow)},
      {"replacement", Text(&Options::replacement)},
  };
  Options options;
  ReadMap(node, kFields, options, problems);
  auto rules = RedactRules::Make(std::move(options));
  if (!rules) return problems.Fail(out.place, rules.error().message());
  if ((*rules)->Match((*rules)->options().replacement)) {
    problems.Fail(out.place, "`replacement` matches a pattern itself");
  }
  out.redact = *rules;
  out.make = [id = out.id, rules = *rules] { return std::make_unique<Redactor>(id, rules); };
}

void ReadRateLimit(const Node& node, ProcessorConfig& out, Problems& problems) {
  using Options = RateLimit::Options;
  static const Fields<Options> kFields = {
      {"samples_per_second", Real(&Options::samples_per_second, 0, 1e15)},
      {"bytes_per_second", Bytes(&Options::bytes_per_second)},
  };
  Options options;
  ReadMap(node, kFields, options, problems);
  if (options.samples_per_second == 0 && options.bytes_per_second == 0) {
    problems.Fail(out.place,
                  fmt::format("`{}` needs `samples_per_second` or `bytes_per_second`", out.id));
  }
  out.make = [options] { return std::make_unique<RateLimit>(options); };
}

const Fields<TailPolicy>& TailPolicyFields();

// latency: {threshold_ms: 500}: each kind has a block of its own name.
template <typename T>
auto Block(const Fields<T>& fields) {
  return Nested([](TailPolicy& policy) -> TailPolicy& { return policy; }, fields);
}

Result<std::uint8_t> ReadStatusCode(const Node& node) {
  static constexpr std::array<std::string_view, 3> kCodes = {"UNSET", "OK", "ERROR"};
  const auto found = std::ranges::find(kCodes, node.text);
  if (found == kCodes.end()) return Error(Code::kInvalid, "expected UNSET, OK or ERROR");
  return static_cast<std::uint8_t>(found - kCodes.begin());
}

void ReadStringPolicy(const Entry& entry, TailPolicy& out, Problems& problems) {
  struct Written {
    std::string key;
    std::vector<std::string> values;
    bool regex = false;
  };
  static const Fields<Written> kFields = {{"key", Text(&Written::key)},
                                          {"values", Texts(&Written::values)},
                                          {"enabled_regex_matching", Flag(&Written::regex)}};
  if (!ExpectMap(entry.value, entry.key, problems)) return;
  Written written;
  ReadMap(entry.value, kFields, written, problems);
  out.key = std::move(written.key);
  if (!written.regex) {
    out.values = std::move(written.values);
    return;
  }
  for (const std::string& value : written.values) {
    out.expressions.push_back(std::make_shared<const re2::RE2>(value, RE2::Quiet));
    if (out.expressions.back()->ok()) continue;
    problems.Fail(entry.place, fmt::format("`values`: `{}` is not a regular expression", value));
  }
}

const Fields<TailPolicy>& TailPolicyFields() {
  using Kind = TailPolicy::Kind;
  static const Fields<TailPolicy> kLatency = {
      {"threshold_ms", Whole(&TailPolicy::threshold_ms, 0, kLargest)}};
  static const Fields<TailPolicy> kStatus = {
      {"status_codes", List(&TailPolicy::status_codes, ReadStatusCode)}};
  static const Fields<TailPolicy> kProbabilistic = {
      {"sampling_percentage", Real(&TailPolicy::sampling_percentage, 0, 100)}};
  static const Fields<TailPolicy> kNumeric = {
      {"key", Text(&TailPolicy::key)},
      {"min_value", Whole(&TailPolicy::min_value, INT64_MIN, INT64_MAX)},
      {"max_value", Whole(&TailPolicy::max_value, INT64_MIN, INT64_MAX)}};
  static const Fields<TailPolicy> kParts = {
      {"and_sub_policy", [](const Entry& entry, TailPolicy& out, Problems& problems) {
         Maps(&TailPolicy::parts, TailPolicyFields())(entry, out, problems);
       }}};
  static const Fields<TailPolicy> kFields = {
      {"name", Text(&TailPolicy::name)},
      {"type", Choice(&TailPolicy::kind,
                      std::vector<std::pair<std::string_view, Kind>>{
                          {"always_sample", Kind::kAlways},
                          {"latency", Kind::kLatency},
                          {"status_code", Kind::kStatusCode},
                          {"probabilistic", Kind::kProbabilistic},
                          {"string_attribute", Kind::kStringAttribute},
                          {"numeric_attribute", Kind::kNumericAttribute},
                          {"and", Kind::kAnd}})},
      {"latency", Block(kLatency)},
      {"status_code", Block(kStatus)},
      {"probabilistic", Block(kProbabilistic)},
      {"numeric_attribute", Block(kNumeric)},
      {"string_attribute", ReadStringPolicy},
      {"and", Block(kParts)}};
  return kFields;
}

void ReadTailSampling(const Node& node, ProcessorConfig& out, Problems& problems) {
  static const Fields<TailOptions> kFields = {
      {"decision_wait", Duration(&TailOptions::decision_wait_ns)},
      {"num_traces", Whole(&TailOptions::num_traces, 1, 100'000'000)},
      {"expected_new_traces_per_sec", Ignored("memory is taken as it is needed")},
      {"policies", Maps(&TailOptions::policies, TailPolicyFields())}};
  auto options = std::make_shared<TailOptions>();
  ReadMap(node, kFields, *options, problems);
  const std::size_t leaves = CountLeaves(options->policies);
  if (leaves == 0 || leaves > kMaxTailLeaves) {
    problems.Fail(out.place,
                  fmt::format("`{}` needs `policies`, at most {}", out.id, kMaxTailLeaves));
  }
  out.traces_only = true;
  out.tail = std::move(options);
}

void RefuseRedaction(const Node& /*node*/, ProcessorConfig& out, Problems& problems) {
  problems.Fail(out.place,
                "`redaction` deletes every attribute that is not on a list; use `redact`, "
                "which replaces what matches a pattern");
}

}  // namespace

const ComponentTypes<ProcessorConfig>& ProcessorTypes() {
  static const ComponentTypes<ProcessorConfig> kTypes = {{"batch", ReadBatch},
                                                         {"memory_limiter", ReadMemoryLimiter},
                                                         {"resource", ReadResource},
                                                         {"attributes", ReadAttributes},
                                                         {"filter", ReadFilter},
                                                         {"probabilistic_sampler", ReadSampler},
                                                         {"tail_sampling", ReadTailSampling},
                                                         {"redact", ReadRedact},
                                                         {"rate_limit", ReadRateLimit},
                                                         {"redaction", RefuseRedaction}};
  return kTypes;
}

}  // namespace wherefore::gateway
