#include "cli/account_bar.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/source.h"

namespace wherefore::cli {
namespace {

using query::kParts;
using query::Part;

// Signs, not colours: they can be read aloud and copied.
constexpr std::array<std::string_view, kParts> kSigns = {"█", "L", "T", "I", "z", "o", "─", "·"};
constexpr std::array<std::string_view, kParts> kLabels = {
    "on CPU", "lock", "thread", "I/O", "sleep", "other", "children", "unobserved"};

using Column = simdjson::dom::array;

}  // namespace

std::string_view PartLabel(Part part) {
  return kLabels[static_cast<std::size_t>(part)];
}

Result<SpanAccounts> AskAccounts(const Context& context, const std::string& trace,
                                 const std::string& span) {
  std::vector<std::pair<std::string, std::string>> parameters;
  if (!span.empty()) parameters.emplace_back("span", span);
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::string body,
      Ask(context, "GET", "/api/v1/traces/" + trace + "/accounting", parameters));
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  Column ids;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || root["span"].get(ids)) {
    return DamagedAnswer();
  }
  std::vector<std::string> reasons;
  Column texts;
  if (root["reasons"].get(texts) == simdjson::SUCCESS) {
    for (const JsonValue& text : texts) reasons.push_back(JsonText(text));
  }
  // By place, because looking up the nth of an array walks it.
  std::vector<SpanAccount> rows(ids.size());
  const auto fill = [&](const JsonLookup& column, auto take) {
    Column values;
    if (column.get(values) != simdjson::SUCCESS) return;
    std::size_t row = 0;
    for (const JsonValue& value : values) {
      if (row < rows.size()) take(rows[row++], value);
    }
  };
  for (std::size_t p = 0; p < kParts; ++p) {
    const JsonLookup part = root["parts"][query::PartName(static_cast<Part>(p))];
    fill(part["value"], [&](SpanAccount& a, const JsonValue& v) { a.value[p] = JsonInt(v); });
    fill(part["error"], [&](SpanAccount& a, const JsonValue& v) { a.error[p] = JsonInt(v); });
  }
  fill(root["why"], [&](SpanAccount& a, const JsonValue& v) {
    const auto reason = static_cast<std::size_t>(JsonInt(v));
    if (reason < reasons.size()) a.why = reasons[reason];
  });
  fill(root["filed_under"],
       [&](SpanAccount& a, const JsonValue& v) { a.filed_under = JsonText(v); });
  SpanAccounts out;
  std::size_t row = 0;
  for (const JsonValue& id : ids) out[JsonText(id)] = std::move(rows[row++]);
  return out;
}

std::string AccountBar(const SpanAccount& account, std::size_t length) {
  const std::int64_t all =
      std::accumulate(account.value.begin(), account.value.end(), std::int64_t{0});
  std::string bar;
  std::size_t drawn = 0;
  std::int64_t until = 0;
  for (std::size_t p = 0; p < kParts; ++p) {
    until += account.value[p];
    const auto to =
        all <= 0 ? std::size_t{0}
                 : static_cast<std::size_t>(static_cast<double>(until) / static_cast<double>(all) *
                                                static_cast<double>(length) +
                                            0.5);
    for (; drawn < std::min(to, length); ++drawn) bar += kSigns[p];
  }
  for (; drawn < length; ++drawn) bar += kSigns[kParts - 1];
  return bar;
}

std::string AccountLegend() {
  std::string out;
  for (std::size_t p = 0; p < kParts; ++p)
    out += fmt::format("{}{} {}", p > 0 ? "  " : "", kSigns[p], kLabels[p]);
  return out;
}

std::string AccountText(const SpanAccount& account) {
  std::vector<std::size_t> order(kParts);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t p) { return account.value[p]; });
  std::string out;
  for (const std::size_t p : order) {
    if (account.value[p] <= 0) break;
    if (!out.empty()) out += ", ";
    out += fmt::format("{} {}", kLabels[p], FormatDuration(account.value[p]));
    if (account.error[p] > 0) out += fmt::format(" ± {}", FormatDuration(account.error[p]));
  }
  return out;
}

}  // namespace wherefore::cli
