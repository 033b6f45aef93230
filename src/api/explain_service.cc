#include "api/explain_service.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/change_json.h"
#include "base/clock.h"
#include "base/shell.h"
#include "base/text.h"
#include "insight/alerts/state.h"
#include "insight/insights.h"
#include "net/url.h"
#include "profile/share_error.h"
#include "query/overview.h"
#include "query/top.h"
#include "query/worse.h"

namespace wherefore::api {
namespace {

constexpr std::size_t kMostTold = 3;  // of each kind

class ServiceExplainer {
 public:
  ServiceExplainer(query::QueryContext& context, const KnownOfServices& known, std::uint32_t tenant,
                   const std::string& service, query::TimeRange range, const CancelToken& cancel)
      : context_(context), known_(known), tenant_(tenant), range_(range), cancel_(cancel) {
    selection_ = {.tenant = tenant,
                  .selector = query::Selector::OfService(service),
                  .type = "cpu",
                  .range = range};
    service_ = service;
  }

  Result<query::Explanation> Run() {
    WHEREFORE_ASSIGN_OR_RETURN(const auto latency,
                               query::LatencyOf(context_, tenant_, service_, range_, cancel_));
    WHEREFORE_ASSIGN_OR_RETURN(const auto lens, query::Lens::Parse("own"));
    WHEREFORE_ASSIGN_OR_RETURN(const auto top, query::Top(context_, selection_, lens, {}, cancel_));
    if (top.rows.empty() && !latency) {
      return Error(Code::kNotFound,
                   fmt::format("no CPU profiles and no requests of '{}' in that time", service_));
    }
    WHEREFORE_ASSIGN_OR_RETURN(
        change_, query::ChangeOfService(context_, tenant_, service_,
                                        std::min(range_.to_ns, NowUnixNs()), cancel_));
    out_.title = Title(latency);
    Changed();
    Costs(top);
    WHEREFORE_RETURN_IF_ERROR(Patterns());
    Fires();
    Sure();
    See(latency.has_value());
    out_.path = "/s/" + net::PercentEncode(service_);
    return std::move(out_);
  }

 private:
  void Add(const char* label, std::string text) {
    if (!text.empty()) out_.lines.push_back({label, std::move(text)});
  }

  [[nodiscard]] std::string Title(const std::optional<query::LatencyRow>& latency) const {
    std::string title = service_;
    if (change_.cores > 0) title += fmt::format(" · {:.2f} cores", change_.cores);
    if (latency) {
      title += fmt::format(" · {} requests, p50 {}, p99 {}", FormatCount(latency->requests),
                           FormatDuration(latency->median_ns), FormatDuration(latency->p99_ns));
      if (latency->errors > 0) title += fmt::format(", {} errors", FormatCount(latency->errors));
    }
    if (!change_.version_after.empty()) title += " · " + change_.version_after;
    return title;
  }

  // Regression records, and where there is none what the difference says.
  void Changed() {
    std::size_t told = 0;
    if (known_.regressions != nullptr) {
      for (const auto& record : known_.regressions->Seen(tenant_).records) {
        if (record.change.service != service_ || !record.IsLive() || told == kMostTold) continue;
        ++told;
        Add("Change",
            fmt::format("{} ({:+.2f} cores; regression {}, {})",
                        query::SentenceOf(record.change, record.told()), record.told().cost,
                        insight::IdText(record.id), insight::StateName(record.state)));
        if (told == 1) out_.commands.push_back(CommandOf(record.change));
        for (const std::string& trace : record.cause().traces) {
          if (traces_.empty()) traces_.push_back(trace);
        }
      }
    }
    if (told > 0) return;
    Add("Change", query::SentenceOf(change_));
    if (change_.verdict == query::ServiceVerdict::kWorse)
      out_.commands.push_back(CommandOf(change_));
  }

  void Costs(const query::TopAnswer& top) {
    std::string text;
    for (std::size_t i = 0; i < std::min(kMostTold, top.rows.size()); ++i) {
      const profile::TopRow& row = top.rows[i];
      const double share = static_cast<double>(row.self) / static_cast<double>(top.total);
      text += fmt::format("{}{} {:.0f} % ± {:.0f}", i == 0 ? "" : "; ",
                          top.functions[row.function].name, 100 * share,
                          profile::ShareError(row.self_count, top.count));
    }
    Add("Costs", text.empty() ? "" : text + " of the CPU time, libraries charged to their callers");
  }

  Result<> Patterns() {
    if (known_.rules.empty()) return {};
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto insights,
        insight::FindInsights(context_, selection_, known_.rules,
                              {.limit = kMostTold, .budget_ns = known_.budget_ns}, cancel_));
    for (const insight::Finding& finding : insights.findings) {
      std::string text = fmt::format("{}: {:.1f} % of {} ({:.1f} to {:.1f})", finding.rule.title,
                                     100 * finding.share.rate, finding.type,
                                     100 * finding.share.low, 100 * finding.share.high);
      if (finding.saved > 0)
        text += fmt::format(", would save {:.2g} cores or more", finding.saved);
      if (!finding.since.empty()) text += ", since " + finding.since;
      Add("Saves", text);
    }
    if (insights.found > 0) out_.commands.push_back("wherefore insights " + ShellQuoted(service_));
    return {};
  }

  void Fires() {
    if (known_.alerts == nullptr) return;
    for (const auto& one : known_.alerts->Seen(tenant_).alerts) {
      const insight::AlertState& state = one.state;
      if (state.service != service_) continue;
      const auto summary = state.annotations.find("summary");
      Add("Fires", fmt::format("{} ({}{}){}", state.alert, insight::PhaseName(state.phase),
                               one.silenced_by.empty() ? "" : ", silenced",
                               summary == state.annotations.end() ? "" : ": " + summary->second));
    }
  }

  void Sure() {
    if (change_.verdict == query::ServiceVerdict::kUnknown) {
      Add("Sure?", change_.reason);
    } else if (change_.detectable) {
      Add("Sure?", fmt::format("a change of {:.1f} % would have been seen; {}",
                               100 * *change_.detectable, change_.tested.note));
    }
  }

  void See(bool has_requests) {
    if (!traces_.empty()) out_.commands.push_back("wherefore explain " + traces_.front());
    if (has_requests && !change_.endpoints.empty()) {
      out_.commands.push_back("wherefore explain " +
                              ShellQuoted(service_ + " " + change_.endpoints.front()));
    }
    out_.commands.push_back("wherefore top " + ShellQuoted(service_));
    Add("See", fmt::format("{}", fmt::join(out_.commands, " · ")));
  }

  query::QueryContext& context_;
  const KnownOfServices& known_;
  const std::uint32_t tenant_;
  std::string service_;
  const query::TimeRange range_;
  const CancelToken& cancel_;
  query::Selection selection_;
  query::ServiceChange change_;
  std::vector<std::string> traces_;
  query::Explanation out_;
};

}  // namespace

Result<query::Explanation> ExplainService(query::QueryContext& context,
                                          const KnownOfServices& known, std::uint32_t tenant,
                                          const std::string& service, query::TimeRange range,
                                          const CancelToken& cancel) {
  return ServiceExplainer(context, known, tenant, service, range, cancel).Run();
}

}  // namespace wherefore::api
