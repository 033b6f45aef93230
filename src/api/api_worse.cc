// Api: what got worse, service by service (worse_watch.h).
#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "api/api.h"
#include "api/change_json.h"
#include "api/request.h"
#include "api/source_files.h"
#include "api/worse_watch.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "insight/regressions/watch.h"

namespace wherefore::api {
namespace {

using Look = WorseSeen::Look;
constexpr double kCertain = 0.05;  // largest q among services that is told as worse

// How small a risk it is that equal services are told as different.
bool GotWorse(const Look& look) {
  return look.change.verdict == query::ServiceVerdict::kWorse && look.q <= kCertain;
}

std::int64_t AgeMs(const Look& look, std::int64_t now) {
  return std::max<std::int64_t>(0, (now - look.looked_ns) / 1'000'000);
}

// What one service's card shows: what its regression records say once its version was looked at,
// until then what was worked out.
struct Card {
  std::shared_ptr<const Look> look;
  bool worse = false;
  std::string verdict;
  std::string more;                    // said behind the sentence
  std::vector<std::uint64_t> records;  // open ones
};

Card ComputedCard(const std::shared_ptr<const Look>& look, std::size_t services) {
  Card card{.look = look, .worse = GotWorse(*look), .verdict = {}, .more = {}, .records = {}};
  card.verdict = query::ServiceVerdictName(look->change.verdict);
  if (look->change.verdict == query::ServiceVerdict::kWorse && !card.worse) {
    card.verdict = "undecided";
    card.more = fmt::format("; among {} services that may be chance", services);
  }
  return card;
}

// Records of one version as one change: the newest look at it, with the causes of all.
std::shared_ptr<const Look> LookOf(const std::vector<const insight::Regression*>& records) {
  const auto newest =
      std::ranges::max_element(records, {}, [](const auto* record) { return record->looked_ns; });
  auto look = std::make_shared<Look>();
  look->change = (*newest)->change;
  look->looked_ns = (*newest)->looked_ns;
  look->q = 1;
  look->change.causes.clear();
  for (const insight::Regression* record : records) {
    look->change.causes.push_back(record->told());
    look->q = std::min(look->q, record->cause().q);
  }
  look->change.endpoints = records.front()->told().endpoints;
  return look;
}

// The records of a service that are shown: those of its newest version that has any open, else
// any that somebody knows of.
std::vector<const insight::Regression*> RecordsOf(const insight::RegressionsSeen& regressions,
                                                  const std::string& service, bool open,
                                                  std::int64_t now) {
  constexpr std::int64_t kShown = 7 * kNsPerDay;  // as `wherefore regressions`
  std::vector<const insight::Regression*> found;
  for (const insight::Regression& record : regressions.records) {
    const bool is_open = record.state == insight::RegressionState::kOpen;
    if (record.change.service != service || !record.IsLive() || is_open != open ||
        now - record.first_seen_ns > kShown)
      continue;
    if (!found.empty() && record.change.since_ns > found.front()->change.since_ns) found.clear();
    if (found.empty() || record.change.since_ns == found.front()->change.since_ns)
      found.push_back(&record);
  }
  return found;
}

Card CardOf(const std::shared_ptr<const Look>& look, const insight::RegressionsSeen& regressions,
            std::size_t services, std::int64_t now) {
  const query::ServiceChange& change = look->change;
  const bool looked_at = std::ranges::any_of(regressions.versions, [&](const auto& looked) {
    return looked.looks > 0 && looked.service == change.service && looked.label == change.label &&
           looked.version == change.version_after;
  });
  Card card = ComputedCard(look, services);
  // Too new for a look: what was worked out is all there is.
  if (card.worse && !looked_at && !change.version_after.empty()) return card;
  const auto open = RecordsOf(regressions, change.service, true, now);
  const auto known = RecordsOf(regressions, change.service, false, now);
  if (!open.empty() || !known.empty()) {
    card.look = LookOf(open.empty() ? known : open);
    card.worse = !open.empty();
    card.verdict = "worse";
    card.more = open.empty() ? fmt::format("; {}", insight::StateName(known.front()->state)) : "";
    for (const insight::Regression* record : open) card.records.push_back(record->id);
  } else if (card.worse && looked_at) {
    card.worse = false;
    card.verdict = "undecided";
    card.more = "; the looks at this version found nothing that is sure enough";
  }
  return card;
}

// Services that were not looked at in this round, but have open records.
void AddUnheard(const insight::RegressionsSeen& regressions, const WorseSeen& seen,
                const query::NameFilter& search, std::int64_t now, std::vector<Card>& worse) {
  std::set<std::string> known;
  for (const auto& look : seen.looks) known.insert(look->change.service);
  for (const insight::Regression& record : regressions.records) {
    const std::string& service = record.change.service;
    if (!search.Matches(service) || !known.insert(service).second) continue;
    const auto open = RecordsOf(regressions, service, true, now);
    if (open.empty()) continue;
    Card& card = worse.emplace_back();
    card.look = LookOf(open);
    card.worse = true;
    card.verdict = "worse";
    for (const insight::Regression* one : open) card.records.push_back(one->id);
  }
}

void AppendCard(JsonWriter& json, const Card& card, std::int64_t now, Lines& lines) {
  const Look& look = *card.look;
  const query::ServiceChange& change = look.change;
  json.BeginObject().Field("service", change.service);
  json.Field("sentence", query::SentenceOf(change) + card.more);
  json.Field("verdict", card.verdict);
  json.Field("q", look.q).Field("reason", change.reason);
  json.Field("type", "cpu").Field("unit", "nanoseconds").Field("cores", change.cores);
  json.Field("age_ms", AgeMs(look, now));
  if (change.verdict != query::ServiceVerdict::kUnknown) {
    json.Field("mode", ModeOf(change));
    AppendSides(json, change);
    AppendStatistics(json, change.tested);
    json.Key("cost").BeginObject().Field("cores", change.cost).Field("low", change.cost_low);
    json.Field("high", change.cost_high).EndObject();
    if (change.detectable) json.Field("detectable_share", *change.detectable);
    json.Field("command", CommandOf(change));
  }
  json.Key("causes").BeginArray();
  for (const query::ServiceChange::Told& told : change.causes) AppendTold(json, told, lines);
  json.EndArray();
  AppendTexts(json, "endpoints", change.endpoints);
  json.Key("regressions").BeginArray();
  for (const std::uint64_t id : card.records) json.String(insight::IdText(id));
  json.EndArray().EndObject();
}

void AppendCards(JsonWriter& json, std::string_view key, const std::vector<Card>& cards,
                 std::size_t limit, std::int64_t now, Lines& lines) {
  json.Key(key).BeginArray();
  for (std::size_t i = 0; i < std::min(limit, cards.size()); ++i)
    AppendCard(json, cards[i], now, lines);
  json.EndArray();
}

}  // namespace

Result<net::HttpResponse> AnswerWorse(WorseWatch& watch, const insight::Regressions* regressions,
                                      const SourceFiles& files, const net::HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p,
                             Parameters::Read(request, {"search", "limit", "max_age"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, p.List(100, 10'000));
  std::int64_t max_age = -1;
  if (p.Has("max_age")) {
    WHEREFORE_ASSIGN_OR_RETURN(max_age, p.Int("max_age", 60, 0, 86'400));
    max_age *= kNsPerSecond;
  }
  const WorseSeen seen = watch.Ask(p.tenant(), max_age);
  const std::int64_t now = NowUnixNs();
  const insight::RegressionsSeen records =
      regressions != nullptr ? regressions->Seen(p.tenant()) : insight::RegressionsSeen();
  std::vector<Card> worse;
  std::vector<Card> others;
  std::int64_t oldest = 0;
  for (const auto& look : seen.looks) {
    oldest = oldest == 0 ? look->looked_ns : std::min(oldest, look->looked_ns);
    if (!wanted.search.Matches(look->change.service)) continue;
    Card card = CardOf(look, records, seen.looks.size(), now);
    (card.worse ? worse : others).push_back(std::move(card));
  }
  AddUnheard(records, seen, wanted.search, now, worse);
  std::ranges::stable_sort(worse, std::greater(),
                           [](const Card& card) { return card.look->change.cost_low; });
  net::HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("at", FormatTime(now)).Field("looking", seen.looking);
  if (oldest > 0) json.Field("age_ms", std::max<std::int64_t>(0, (now - oldest) / 1'000'000));
  json.Field("looked_at", seen.looks.size()).Field("services", seen.services);
  json.Field("worse_in_all", worse.size());
  Lines lines(files);
  AppendCards(json, "worse", worse, wanted.limit, now, lines);
  AppendCards(json, "others", others, wanted.limit, now, lines);
  AppendMarks(json, seen, wanted.search);
  json.EndObject();
  return response;
}

}  // namespace wherefore::api
