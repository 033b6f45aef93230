#include "query/path_flame.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "query/critical_path.h"
#include "query/looks.h"
#include "query/stack_paths.h"
#include "query/trace_accounting.h"

namespace wherefore::query {
namespace {

constexpr std::uint8_t kServer = 2;
constexpr std::uint8_t kClient = 3;

constexpr std::array<std::string_view, kParts> kFrames = {
    "[on CPU]", "[lock]", "[thread]", "[I/O]", "[sleep]", "[other]", "[children]", "[unobserved]"};

class PathTree {
 public:
  PathTree(QueryContext& context, const CancelToken& cancel) : context_(context), cancel_(cancel) {}

  Result<PathFlame> Build(SpanObservations seen, const std::string& service,
                          const std::string& name) {
    all_ = AccountEach(std::move(seen));
    WHEREFORE_RETURN_IF_ERROR(ReadPaths());
    FindServers();
    const auto& spans = all_.seen.spans;
    PathFlame out;
    for (std::size_t begin = 0; begin < spans.size();) {
      std::size_t end = begin;
      while (end < spans.size() && spans[end].trace == spans[begin].trace) ++end;
      WHEREFORE_RETURN_IF_ERROR(cancel_.Check());
      if (AddTrace(begin, end, service, name)) ++out.traces;
      begin = end;
    }
    out.tree = builder_.Build();
    out.tree.type = "critical path";
    out.tree.unit = "nanoseconds";
    return out;
  }

 private:
  // The functions of every stack; samples are sorted by unit.
  Result<> ReadPaths() {
    const auto& samples = all_.seen.samples;
    std::map<store::DictionaryKey, std::vector<StackValue>> stacks;
    for (const auto& s : samples) stacks[s.dictionary].push_back({.stack = s.stack});
    std::vector<StackTries::Values> values;
    std::map<store::DictionaryKey, std::size_t> lists;
    for (const auto& [key, list] : stacks) {
      lists[key] = values.size();
      values.push_back({key, list});
    }
    WHEREFORE_ASSIGN_OR_RETURN(paths_, context_.tries.PathsOf(values, cancel_));
    std::vector<std::size_t> next(values.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::size_t list = lists[samples[i].dictionary];
      ends_.push_back(paths_.ends[list][next[list]++]);
      if (i == 0 || samples[i].unit != samples[i - 1].unit) first_.emplace(samples[i].unit, i);
    }
    for (const profile::FlameFunction& f : paths_.functions)
      functions_.push_back(builder_.AddFunction(f));
    return {};
  }

  void FindServers() {
    const auto& seen = all_.seen;
    served_.assign(seen.spans.size(), 0);
    for (std::size_t i = 0; i < seen.spans.size(); ++i) {
      const std::uint32_t parent = seen.parent[i];
      if (parent != kNoSpan && seen.spans[i].kind == kServer && seen.spans[parent].kind == kClient)
        served_[parent] = 1;
    }
  }

  // Which spans of the trace count: all, or the longest that is asked for and what is below it.
  std::vector<std::uint32_t> Chosen(std::size_t begin, std::size_t end, const std::string& service,
                                    const std::string& name) const {
    const auto& seen = all_.seen;
    std::vector<std::uint32_t> chosen;
    if (name.empty()) {
      for (std::size_t i = begin; i < end; ++i) chosen.push_back(static_cast<std::uint32_t>(i));
      return chosen;
    }
    std::uint32_t root = kNoSpan;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> children;
    for (auto i = static_cast<std::uint32_t>(begin); i < end; ++i) {
      const store::SpanRow& span = seen.spans[i];
      if (seen.parent[i] != kNoSpan) children[seen.parent[i]].push_back(i);
      if (span.service_name != service || span.name != name) continue;
      if (root == kNoSpan || span.duration_ns > seen.spans[root].duration_ns) root = i;
    }
    if (root == kNoSpan) return chosen;
    std::vector<char> known(end - begin);
    chosen.push_back(root);
    known[root - begin] = 1;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      for (const std::uint32_t child : children[chosen[k]]) {
        if (known[child - begin]++ == 0) chosen.push_back(child);
      }
    }
    return chosen;
  }

  bool AddTrace(std::size_t begin, std::size_t end, const std::string& service,
                const std::string& name) {
    const std::vector<std::uint32_t> chosen = Chosen(begin, end, service, name);
    if (chosen.empty()) return false;
    std::vector<store::SpanRow> spans;
    for (const std::uint32_t i : chosen) spans.push_back(all_.seen.spans[i]);
    if (!name.empty()) spans.front().parent = {};
    const CriticalPath path = FindCriticalPath(spans);
    std::map<std::uint32_t, std::int64_t> own;  // on the path; ordered, for the same tree
    for (const PathSegment& segment : path.segments)
      own[segment.span] += segment.end_ns - segment.start_ns;
    node_.clear();
    const std::uint32_t top = name.empty() ? kNoSpan : chosen.front();
    for (const auto& [span, time] : own) {
      if (span == kNoSpan) {
        AddPlain(0, "[the root span is not stored]", time, 0);
      } else {
        AddSpan(chosen[span], top, time);
      }
    }
    return true;
  }

  std::uint32_t NodeOf(std::uint32_t span, std::uint32_t top) {
    std::vector<std::uint32_t> way;
    std::uint32_t at = span;
    // Parents may go in a circle: the path cuts it open somewhere, here it is where it comes back.
    while (!node_.contains(at)) {
      way.push_back(at);
      node_[at] = 0;
      if (at == top || all_.seen.parent[at] == kNoSpan) break;
      at = all_.seen.parent[at];
    }
    std::uint32_t node = node_.contains(at) ? node_[at] : 0;
    for (std::size_t i = way.size(); i-- > 0;) {
      const store::SpanRow& row = all_.seen.spans[way[i]];
      node = builder_.Child(
          node,
          builder_.AddFunction({.name = row.name, .module = row.service_name, .kind = kSpanFrame}));
      node_[way[i]] = node;
    }
    return node;
  }

  void AddPlain(std::uint32_t parent, std::string_view frame, std::int64_t value,
                std::int64_t count) {
    if (value == 0) return;
    const std::uint32_t function =
        builder_.AddFunction({.name = std::string(frame), .kind = kPartFrame});
    builder_.AddValue(builder_.Child(parent, function), value, count);
  }

  // What the span did itself on the path, by the shares of its account.
  void AddSpan(std::uint32_t span, std::uint32_t top, std::int64_t time) {
    const std::uint32_t node = NodeOf(span, top);
    if (served_[span] != 0) return AddPlain(node, "[network and queueing]", time, 0);
    const std::uint32_t unit = all_.seen.unit[span];
    const Account& account = all_.accounts[unit];
    const std::int64_t own = account.duration_ns - account[Part::kChildren].value;
    const std::int64_t shown = std::min(time, own);
    AddPlain(node, "[while children ran that nobody waited for]", time - shown, 0);
    InProportion share(shown, own);
    for (std::size_t p = 0; p < kParts; ++p) {
      const auto part = static_cast<Part>(p);
      if (part == Part::kChildren || account[part].value == 0) continue;
      AddPart(node, unit, part, share.Next(account[part].value));
    }
  }

  // A part with the stacks of its samples; how large it is the account says.
  void AddPart(std::uint32_t node, std::uint32_t unit, Part part, std::int64_t value) {
    if (value == 0) return;
    const auto& samples = all_.seen.samples;
    std::vector<std::size_t> own;
    std::int64_t sum = 0;
    const auto first = first_.find(unit);
    for (std::size_t i = first == first_.end() ? samples.size() : first->second;
         i < samples.size() && samples[i].unit == unit; ++i) {
      if (samples[i].part != part || samples[i].value <= 0) continue;
      if (samples[i].lock_look && !all_.accounts[unit].lock_looks_counted) continue;
      own.push_back(i);
      sum = SaturatingAdd(sum, samples[i].value);
    }
    if (sum <= 0) return AddPlain(node, kFrames[static_cast<std::size_t>(part)], value, 0);
    const std::uint32_t frame = builder_.Child(
        node, builder_.AddFunction({.name = std::string(kFrames[static_cast<std::size_t>(part)]),
                                    .kind = kPartFrame}));
    InProportion share(value, sum);
    for (const std::size_t i : own) {
      std::vector<std::uint32_t> path;
      for (std::uint32_t n = ends_[i]; n != 0; n = paths_.nodes[n].parent)
        path.push_back(functions_[paths_.nodes[n].function]);
      std::uint32_t at = frame;
      for (std::size_t k = path.size(); k-- > 0;) at = builder_.Child(at, path[k]);
      builder_.AddValue(at, share.Next(samples[i].value), samples[i].count);
    }
  }

  QueryContext& context_;
  const CancelToken& cancel_;
  TraceAccounting all_;
  StackPaths paths_;
  std::vector<std::uint32_t> ends_;                        // by sample: the last node of its path
  std::unordered_map<std::uint32_t, std::size_t> first_;   // by unit: its first sample
  std::vector<std::uint32_t> functions_;                   // of paths_, in the builder
  std::vector<char> served_;                               // clients whose server is stored
  std::unordered_map<std::uint32_t, std::uint32_t> node_;  // by span, of the trace at hand
  profile::TreeBuilder builder_;
};

}  // namespace

Result<PathFlame> CriticalPathFlame(QueryContext& context, std::uint32_t tenant,
                                    const std::vector<profile::TraceId>& traces,
                                    const std::string& service, const std::string& name,
                                    const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(SpanObservations seen, ObserveSpans(context, tenant, traces, cancel));
  return PathTree(context, cancel).Build(std::move(seen), service, name);
}

}  // namespace wherefore::query
