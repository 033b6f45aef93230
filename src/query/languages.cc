#include "query/languages.h"

#include <array>
#include <utility>

namespace wherefore::query {
namespace {

using Known = std::pair<std::string_view, std::string_view>;

// Pyroscope's clients name themselves, not the language; the last part of their scope's name does.
constexpr std::array<Known, 6> kScopes = {{{"/go", "go"},
                                           {"/godeltaprof", "go"},
                                           {"/python", "python"},
                                           {"/java", "java"},
                                           {"/nodejs", "nodejs"},
                                           {"/rust", "rust"}}};
constexpr std::array<Known, 8> kSpies = {{{"gospy", "go"},
                                          {"pyspy", "python"},
                                          {"javaspy", "java"},
                                          {"nodespy", "nodejs"},
                                          {"pyroscope-rs", "rust"},
                                          {"rbspy", "ruby"},
                                          {"dotnetspy", "dotnet"},
                                          {"phpspy", "php"}}};

}  // namespace

std::string_view LanguageOf(const Labels& labels) {
  if (const auto said = FindLabel(labels, "telemetry.sdk.language"); !said.empty()) return said;
  const std::string_view scope = FindLabel(labels, "otel.scope.name");
  for (const auto& [ending, language] : kScopes) {
    if (scope.ends_with(ending)) return language;
  }
  const std::string_view spy = FindLabel(labels, "pyroscope_spy");
  for (const auto& [name, language] : kSpies) {
    if (spy == name) return language;
  }
  return {};
}

}  // namespace wherefore::query
