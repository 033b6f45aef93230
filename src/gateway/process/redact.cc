#include "gateway/process/redact.h"

#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/otlp/nested_values.h"
#include "profile/unused.h"

namespace wherefore::gateway {
namespace {

using profile::Attribute;
using profile::Id;
using Kind = profile::Value::Kind;

// The work on one batch. Every string is looked at once; then the tables are edited, and last what
// matched and is still in the string table is emptied.
class Redaction {
 public:
  Redaction(profile::TextPool& pool, const RedactRules& rules, const RedactFound& found)
      : pool_(pool), rules_(rules), found_(found) {
    matches_.reserve(pool.strings.size());
    for (const std::string_view text : pool.strings) {
      matches_.push_back(text.empty() ? std::nullopt : rules.Match(text));
    }
    kept_.resize(matches_.size());
  }

  // Whatever has resources and scopes.
  template <typename B>
  void EditOwners(B& batch) {
    for (profile::Resource& resource : batch.resources) {
      Edit(resource.schema_url, "schema URL");
      if (Goes(resource.entity_refs, "entity")) resource.entity_refs = 0;
      for (Attribute& a : Own(resource.attributes)) {
        const std::string_view key = pool_.Text(a.key);
        if (key == "service.name" || key == "service_name") {
          Keep(a.key);
          Keep(a.value.text);
        } else {
          Edit(a, "resource attribute");
        }
      }
    }
    for (profile::Scope& scope : batch.scopes) {
      Edit(scope.name, "scope");
      Edit(scope.version, "scope");
      Edit(scope.schema_url, "schema URL");
      EditOwn(scope.attributes, "scope attribute");
    }
  }

  void Edit(profile::Batch& batch) {
    EditOwners(batch);
    for (profile::Function& f : batch.functions) {
      if (Goes(f.name, "function") || Goes(f.system_name, "function")) {
        // Each would give the other away.
        f.name = Replacement();
        f.system_name = f.system_name == 0 ? 0 : Replacement();
      }
      Edit(f.filename, "source file");
    }
    for (profile::Mapping& m : batch.mappings) Edit(m.filename, "module");
    for (Attribute& a : batch.attributes) Edit(a, "attribute");
    for (profile::Profile& p : batch.profiles) {
      for (const Id name : {p.name, p.sample_type.type, p.sample_type.unit, p.period_type.type,
                            p.period_type.unit}) {
        Keep(name);
      }
      if (p.payload.empty() && p.payload_format == 0) continue;
      p.payload = {};
      p.payload_format = 0;
      changed_ = true;
    }
  }

  void Edit(profile::SpanBatch& batch) {
    EditOwners(batch);
    for (profile::Span& span : batch.spans) {
      Edit(span.name, "span");
      Edit(span.status_message, "span status");
      if (Goes(span.trace_state, "trace state")) span.trace_state = 0;
      EditOwn(span.attributes, "span attribute");
    }
    for (profile::SpanEvent& event : batch.events) {
      Edit(event.name, "span event");
      EditOwn(event.attributes, "span event attribute");
    }
    for (profile::SpanLink& link : batch.links) {
      if (Goes(link.trace_state, "trace state")) link.trace_state = 0;
      EditOwn(link.attributes, "span link attribute");
    }
  }

  // True if anything changed.
  bool Finish() {
    for (std::size_t i = 0; i < matches_.size(); ++i) {
      if (!matches_[i] || kept_[i]) continue;
      pool_.strings[i] = {};
      changed_ = true;
    }
    return changed_;
  }

 private:
  std::span<Attribute> Own(profile::Range range) {
    return std::span(pool_.own_attributes).subspan(range.begin, range.count);
  }
  void EditOwn(profile::Range range, std::string_view place) {
    for (Attribute& a : Own(range)) Edit(a, place);
  }

  // Strings that were added meanwhile are ours.
  [[nodiscard]] std::optional<std::size_t> MatchOf(Id id) const {
    return id < matches_.size() ? matches_[id] : std::nullopt;
  }
  void Keep(Id id) {
    if (id < kept_.size()) kept_[id] = true;
  }
  void Note(std::string_view place, std::string_view text, std::size_t pattern) {
    changed_ = true;
    found_(place, text, pattern);
  }
  bool Goes(Id id, std::string_view place) {
    const auto match = MatchOf(id);
    if (match) Note(place, pool_.Text(id), *match);
    return match.has_value();
  }
  Id Replacement() {
    if (replacement_ == 0) replacement_ = pool_.AddText(rules_.options().replacement);
    return replacement_;
  }
  void Edit(Id& id, std::string_view place) {
    if (Goes(id, place)) id = Replacement();
  }

  void Edit(Attribute& a, std::string_view place) {
    Keep(a.key);
    Edit(a.unit, place);
    const bool nested = a.value.kind == Kind::kArray || a.value.kind == Kind::kMap;
    const auto by_key = MatchOf(a.key);
    const auto by_value = nested ? std::nullopt : MatchOf(a.value.text);
    if (a.value.kind != Kind::kEmpty && (by_key || by_value)) {
      Note(place, fmt::format("{} = {}", pool_.Text(a.key), profile::ValueText(pool_, a.value)),
           by_value ? *by_value : *by_key);
      a.value = {.kind = Kind::kString, .text = Replacement()};
    } else if (nested) {
      EditNested(a, place);
    }
  }

  void EditNested(Attribute& a, std::string_view place) {
    const auto goes = [&](std::string_view key, std::string_view text) {
      auto match = text.empty() ? std::nullopt : rules_.Match(text);
      if (!match) match = rules_.Match(key);
      if (match) Note(place, fmt::format("{} = {}", key, text), *match);
      return match.has_value();
    };
    auto replaced = formats::ReplaceNested(pool_.Text(a.value.text), pool_.Text(a.key),
                                           rules_.options().replacement, goes);
    if (replaced) {
      a.value.text = pool_.AddText(*replaced);
    } else {
      Keep(a.value.text);  // its bytes match as a whole, nothing in them does
    }
  }

  profile::TextPool& pool_;
  const RedactRules& rules_;
  const RedactFound& found_;
  std::vector<std::optional<std::size_t>> matches_;  // of each string
  std::vector<bool> kept_;                           // strings that stay although they match
  Id replacement_ = 0;
  bool changed_ = false;
};

template <typename B>
bool RedactBatch(B& batch, const RedactRules& rules, const RedactFound& found) {
  Redaction redaction(batch, rules, found);
  redaction.Edit(batch);
  if (!redaction.Finish()) return false;
  // A value that went because of its key does not match by itself, and is still in the tables.
  if constexpr (std::is_same_v<B, profile::Batch>) profile::BlankUnused(batch);
  return true;
}

}  // namespace

bool Redact(profile::Batch& batch, const RedactRules& rules, const RedactFound& found) {
  return RedactBatch(batch, rules, found);
}

bool Redact(profile::SpanBatch& batch, const RedactRules& rules, const RedactFound& found) {
  return RedactBatch(batch, rules, found);
}

Redactor::Redactor(const std::string& id, std::shared_ptr<const RedactRules> rules)
    : rules_(std::move(rules)) {
  for (const std::string& pattern : rules_->options().patterns) {
    counters_.push_back(&Metrics::Global().GetCounter("wherefore_redacted_total",
                                                      "Texts that a redact processor replaced.",
                                                      {{"processor", id}, {"rule", pattern}}));
  }
}

Result<> Redactor::Process(profile::WriteRequest& request) {
  const RedactFound count = [this](std::string_view /*place*/, std::string_view /*text*/,
                                   std::size_t pattern) { counters_[pattern]->Add(); };
  const bool changed =
      std::visit([&](auto& batch) { return Redact(batch, *rules_, count); }, request.data);
  if (changed) request.otlp_bytes.reset();
  // What the decoder said about this request may quote it.
  if (const auto match = rules_->Match(request.decoded.message)) {
    counters_[*match]->Add();
    request.decoded.message = rules_->options().replacement;
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> Redactor::facts() const {
  std::vector<std::pair<std::string, std::string>> facts;
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    facts.emplace_back(fmt::format("redacted by `{}`", rules_->options().patterns[i]),
                       FormatCount(static_cast<std::int64_t>(counters_[i]->value())));
  }
  return facts;
}

}  // namespace wherefore::gateway
