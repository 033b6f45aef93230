#include "gateway/config/profiling_settings.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/text.h"
#include "settings/fields.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

using Settings = ProfilingSettings;

enum class Unit : std::uint8_t { kHertz, kBytes, kTime };
struct TypeName {
  std::string_view key;   // in the file
  std::string_view name;  // libwherefore's
  Unit unit;
};
constexpr std::array<TypeName, 9> kTypes = {{{"cpu", "cpu", Unit::kHertz},
                                             {"wall", "wall", Unit::kHertz},
                                             {"wall_clock", "wall", Unit::kHertz},
                                             {"off_cpu", "off_cpu", Unit::kHertz},
                                             {"heap", "heap", Unit::kBytes},
                                             {"memory", "heap", Unit::kBytes},
                                             {"mutex", "mutex", Unit::kTime},
                                             {"block", "block", Unit::kTime},
                                             {"threads", "threads", Unit::kTime}}};

Result<double> ReadRate(const Node& node, Unit unit) {
  switch (unit) {
    case Unit::kHertz: {
      Node number = node;
      if (Lower(number.text).ends_with("hz")) {
        number.text = Trim(number.text.substr(0, number.text.size() - 2));
      }
      return ReadReal(number, 0, 10'000);
    }
    case Unit::kBytes: {
      WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t bytes, ReadBytes(node));
      return static_cast<double>(bytes);
    }
    case Unit::kTime: {
      WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t ns, ReadDuration(node));
      return static_cast<double>(ns);
    }
  }
  return 0.0;
}

// `cpu: {enabled: true, sample_rate: 100}`, or `cpu: true`.
auto TypeBlock(const TypeName& type) {
  return [&type](const Entry& entry, Settings& out, Problems& problems) {
    Settings::Type& settings = out.by_type[std::string(type.name)];
    if (entry.value.kind == Node::Kind::kScalar) {
      return Flag(&Settings::Type::enabled)(entry, settings, problems);
    }
    const Fields<Settings::Type> fields = {
        {"enabled", Flag(&Settings::Type::enabled)},
        {"sample_rate", [&type](const Entry& rate, Settings::Type& to, Problems& p) {
           Scalar(&Settings::Type::rate,
                  [&type](const Node& node) { return ReadRate(node, type.unit); })(rate, to, p);
           to.rate_text = rate.value.text;
         }}};
    if (ExpectMap(entry.value, entry.key, problems)) {
      ReadMap(entry.value, fields, settings, problems);
    }
  };
}

const Fields<Settings::Conditional>& ConditionalFields() {
  using Conditional = Settings::Conditional;
  static const Fields<Conditional> kFields = {
      {"slow_request_threshold", Duration(&Conditional::slow_request_ns)},
      {"cpu_threshold_percent", Percent(&Conditional::cpu)},
      {"cpu_threshold", Share(&Conditional::cpu)},
      {"profile_errors", Flag(&Conditional::errors)},
      {"decision_wait", Duration(&Conditional::decision_wait_ns)},
  };
  return kFields;
}

template <typename Load>
Fields<Load> LoadFields() {
  return {{"enabled", Flag(&Load::enabled)},
          {"cpu_threshold", Share(&Load::cpu)},
          {"memory_threshold", Bytes(&Load::memory_bytes)},
          {"mem_threshold", Bytes(&Load::memory_bytes)}};
}

const Fields<Settings::LoadShedding>& SheddingFields() {
  static const auto kFields = LoadFields<Settings::LoadShedding>();
  return kFields;
}

const Fields<Settings::Adaptive>& AdaptiveFields() {
  static const auto kFields = [] {
    auto fields = LoadFields<Settings::Adaptive>();
    fields.push_back({"base_rate", Real(&Settings::Adaptive::base_rate, 1, 10'000)});
    fields.push_back({"max_rate", Real(&Settings::Adaptive::max_rate, 1, 10'000)});
    return fields;
  }();
  return kFields;
}

auto Types() {
  return [](const Entry& entry, Settings& out, Problems& problems) {
    Texts([](Settings& s) -> auto& { return s.types.emplace(); })(entry, out, problems);
    std::vector<std::string_view> names;
    for (const TypeName& type : kTypes) {
      if (type.key == type.name) names.push_back(type.name);
    }
    for (const std::string& name : out.types.value_or(std::vector<std::string>())) {
      if (std::ranges::find(names, name) != names.end()) continue;
      problems.Fail(entry.value.place,
                    fmt::format("unknown type `{}`{}", name, WhatExists(name, names)));
    }
  };
}

const Fields<Settings>& ProfilingFields() {
  static const Fields<Settings> kFields = [] {
    Fields<Settings> fields = {
        {"enabled", Flag(&Settings::enabled)},
        {"types", Types()},
        {"conditional", Present(&Settings::conditional, ConditionalFields())},
        {"max_stack_depth", Whole(&Settings::max_stack_depth, 1, 1024)},
        {"max_profile_size", Bytes(&Settings::max_profile_bytes)},
        {"upload_interval", Duration(&Settings::upload_interval_ns)},
        {"load_shedding", Present(&Settings::load_shedding, SheddingFields())},
        {"adaptive", Present(&Settings::adaptive, AdaptiveFields())},
        {"max_overhead", Share(&Settings::max_overhead)},
        {"max_overhead_percent", Percent(&Settings::max_overhead)},
    };
    for (const TypeName& type : kTypes) fields.push_back({type.key, TypeBlock(type)});
    return fields;
  }();
  return kFields;
}

}  // namespace

bool IsProfilingType(std::string_view name) {
  return std::ranges::find(kTypes, name, &TypeName::name) != kTypes.end();
}

ProfilingSettings ReadProfiling(const Node& node, Problems& problems) {
  ProfilingSettings settings;
  if (!ExpectMap(node, "profiling", problems)) return settings;
  ReadMap(node, ProfilingFields(), settings, problems);
  constexpr std::int64_t kShortestUpload = 100'000'000;
  constexpr std::int64_t kSmallestProfile = 64'000;
  if (settings.upload_interval_ns && *settings.upload_interval_ns < kShortestUpload) {
    problems.Fail(node.Find("upload_interval")->place, "`upload_interval`: at least 100ms");
  }
  if (settings.max_profile_bytes && *settings.max_profile_bytes < kSmallestProfile) {
    problems.Fail(node.Find("max_profile_size")->place, "`max_profile_size`: at least 64KB");
  }
  const auto& adaptive = settings.adaptive;
  if (adaptive && adaptive->base_rate && adaptive->max_rate &&
      *adaptive->base_rate > *adaptive->max_rate) {
    problems.Fail(node.Find("adaptive")->place, "`base_rate` is above `max_rate`");
  }
  return settings;
}

}  // namespace wherefore::gateway
