#include "gateway/process/attribute_actions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <re2/re2.h>

#include "base/text.h"
#include "net/sha256.h"
#include "profile/unused.h"

namespace wherefore::gateway {
namespace {

using profile::Attribute;
using profile::Batch;
using profile::Id;
using profile::Range;
using profile::SpanBatch;
using profile::TextPool;
using Kind = profile::Value::Kind;

// One set of attributes while the actions change it.
class AttributeSet {
 public:
  AttributeSet(TextPool& pool, std::vector<Attribute> attributes)
      : pool_(pool), attributes_(std::move(attributes)) {}

  // True if anything changed.
  bool Apply(const std::vector<AttributeAction>& actions) {
    for (const AttributeAction& action : actions) Apply(action);
    return changed_;
  }
  [[nodiscard]] const std::vector<Attribute>& attributes() const { return attributes_; }

 private:
  void Apply(const AttributeAction& action) {
    switch (action.kind) {
      case AttributeAction::Kind::kInsert:
        if (Find(action.key) == nullptr) Put(action);
        return;
      case AttributeAction::Kind::kUpdate:
        if (Find(action.key) != nullptr) Put(action);
        return;
      case AttributeAction::Kind::kUpsert:
        return Put(action);
      case AttributeAction::Kind::kDelete:
        return Delete(action);
      case AttributeAction::Kind::kHash:
        return Hash(action);
      case AttributeAction::Kind::kExtract:
        return Extract(action);
      case AttributeAction::Kind::kConvert:
        return Convert(action);
    }
  }

  Attribute* Find(std::string_view key) {
    const auto found = std::ranges::find_if(
        attributes_, [&](const Attribute& a) { return pool_.Text(a.key) == key; });
    return found == attributes_.end() ? nullptr : &*found;
  }

  profile::Value TextValue(std::string_view text) {
    return {.kind = Kind::kString, .text = pool_.AddText(text)};
  }

  profile::Value ValueOf(const AttributeAction::Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return TextValue(*text);
    if (const auto* flag = std::get_if<bool>(&value)) return {.kind = Kind::kBool, .number = *flag};
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      return {.kind = Kind::kInt, .number = *whole};
    }
    return {.kind = Kind::kDouble, .number = std::bit_cast<std::int64_t>(std::get<double>(value))};
  }

  void Put(const AttributeAction& action) {
    if (action.value) return Set(action.key, ValueOf(*action.value));
    if (const Attribute* from = Find(action.from_attribute)) return Set(action.key, from->value);
    if (action.default_value) Set(action.key, ValueOf(*action.default_value));
  }

  void Set(std::string_view key, profile::Value value) {
    Attribute* const there = Find(key);
    if (there == nullptr) {
      attributes_.push_back({.key = pool_.AddText(key), .value = value});
    } else if (there->value.kind == value.kind && there->value.number == value.number &&
               pool_.Text(there->value.text) == pool_.Text(value.text)) {
      return;
    } else {
      there->value = value;
    }
    changed_ = true;
  }

  void Delete(const AttributeAction& action) {
    const std::size_t gone = std::erase_if(attributes_, [&](const Attribute& a) {
      const std::string_view key = pool_.Text(a.key);
      return (!action.key.empty() && key == action.key) ||
             (action.pattern && RE2::PartialMatch(key, *action.pattern));
    });
    changed_ = changed_ || gone > 0;
  }

  void Hash(const AttributeAction& action) {
    for (Attribute& a : attributes_) {
      const std::string_view key = pool_.Text(a.key);
      if (key != action.key && !(action.pattern && RE2::PartialMatch(key, *action.pattern)))
        continue;
      a.value = TextValue(ToHex(net::Sha256(profile::ValueText(pool_, a.value))));
      changed_ = true;
    }
  }

  // Each named group of the pattern becomes an attribute.
  void Extract(const AttributeAction& action) {
    const Attribute* const from = Find(action.key);
    if (from == nullptr || from->value.kind != Kind::kString) return;
    const std::string text(pool_.Text(from->value.text));
    const auto groups = static_cast<std::size_t>(action.pattern->NumberOfCapturingGroups()) + 1;
    std::vector<re2::StringPiece> found(groups);
    if (!action.pattern->Match(text, 0, text.size(), RE2::UNANCHORED, found.data(),
                               static_cast<int>(groups))) {
      return;
    }
    for (const auto& [name, index] : action.pattern->NamedCapturingGroups()) {
      const re2::StringPiece part = found[static_cast<std::size_t>(index)];
      Set(name, TextValue({part.data(), part.size()}));
    }
  }

  void Convert(const AttributeAction& action) {
    Attribute* const a = Find(action.key);
    if (a == nullptr || a->value.kind == action.converted_type) return;
    const std::string text = profile::ValueText(pool_, a->value);
    if (action.converted_type == Kind::kString) {
      a->value = TextValue(text);
      changed_ = true;
      return;
    }
    // A flag as 1 or 0; text that is no number stays as it is.
    double number = static_cast<double>(a->value.number);
    if (a->value.kind == Kind::kString) {
      char* end = nullptr;
      number = std::strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0') return;
    } else if (a->value.kind == Kind::kDouble) {
      number = std::bit_cast<double>(a->value.number);
    } else if (a->value.kind != Kind::kInt && a->value.kind != Kind::kBool) {
      return;
    }
    constexpr double kLargest = 9.2e18;
    if (action.converted_type == Kind::kInt && !(std::abs(number) < kLargest)) return;
    const std::int64_t bits = action.converted_type == Kind::kDouble
                                  ? std::bit_cast<std::int64_t>(number)
                                  : ParseInt(text).value_or(std::llround(std::trunc(number)));
    a->value = {.kind = action.converted_type, .number = bits};
    changed_ = true;
  }

  TextPool& pool_;
  std::vector<Attribute> attributes_;
  bool changed_ = false;
};

// Changes attributes outside the dictionary: those of resources and spans.
bool ChangeOwn(TextPool& pool, Range& range, const std::vector<AttributeAction>& actions) {
  const auto old = pool.OwnAttributes(range);
  AttributeSet set(pool, {old.begin(), old.end()});
  if (!set.Apply(actions)) return false;
  range = {static_cast<std::uint32_t>(pool.own_attributes.size()),
           static_cast<std::uint32_t>(set.attributes().size())};
  pool.own_attributes.insert(pool.own_attributes.end(), set.attributes().begin(),
                             set.attributes().end());
  return true;
}

template <typename B>
bool ChangeResources(B& batch, const std::vector<AttributeAction>& actions) {
  bool changed = false;
  for (std::size_t i = 1; i < batch.resources.size(); ++i) {
    changed = ChangeOwn(batch, batch.resources[i].attributes, actions) || changed;
  }
  return changed;
}

bool ChangeItems(SpanBatch& batch, const std::vector<AttributeAction>& actions) {
  bool changed = false;
  for (profile::Span& span : batch.spans) {
    changed = ChangeOwn(batch, span.attributes, actions) || changed;
  }
  return changed;
}

// Samples refer to the table; most have a list of attributes in common with others.
bool ChangeItems(Batch& batch, const std::vector<AttributeAction>& actions) {
  std::map<std::vector<Id>, Range> done;
  bool changed = false;
  for (Range& range : batch.samples.attributes) {
    const auto ids = batch.AttributeRefs(range);
    const auto [entry, added] = done.try_emplace({ids.begin(), ids.end()}, range);
    if (added) {
      std::vector<Attribute> old;
      for (const Id id : ids) old.push_back(batch.attributes[id]);
      AttributeSet set(batch, std::move(old));
      if (set.Apply(actions)) {
        entry->second = {static_cast<std::uint32_t>(batch.attribute_refs.size()),
                         static_cast<std::uint32_t>(set.attributes().size())};
        for (const Attribute& a : set.attributes()) {
          batch.attribute_refs.push_back(static_cast<Id>(batch.attributes.size()));
          batch.attributes.push_back(a);
        }
        changed = true;
      }
    }
    range = entry->second;
  }
  return changed;
}

}  // namespace

Result<> AttributeActions::Process(profile::WriteRequest& request) {
  const bool changed = std::visit(
      [this](auto& batch) {
        return where_ == Where::kResources ? ChangeResources(batch, actions_)
                                           : ChangeItems(batch, actions_);
      },
      request.data);
  if (!changed) return {};
  request.otlp_bytes.reset();
  if (auto* const batch = std::get_if<Batch>(&request.data)) profile::BlankUnused(*batch);
  return {};
}

}  // namespace wherefore::gateway
