// PyroscopeApi: flame graphs, trees, call graphs, pprof and differences.
#include <algorithm>

#include "api/pyroscope.h"
#include "formats/formats.h"
#include "profile/type_id.h"
#include "query/call_site.h"
#include "query/diff.h"
#include "query/export.h"
#include "query/flame.h"
#include "query/lens.h"

namespace wherefore::api {
namespace {

using formats::MergeFormat;
using formats::QuerierRequest;

constexpr std::size_t kDotNodes = 100;
constexpr std::size_t kMostDotNodes = 512;

}  // namespace

// The tree a request is about, or its `max_nodes` largest nodes; functions are told apart by name.
Result<profile::FlameTree> PyroscopeApi::Tree(const Caller& caller, const QuerierRequest& request,
                                              std::size_t max_nodes) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto range, ReadRange(request.start_ms, request.end_ms));
  WHEREFORE_ASSIGN_OR_RETURN(const auto typed,
                             ReadSelection(caller.tenant, request.type, request.selector, range));
  WHEREFORE_ASSIGN_OR_RETURN(const auto narrowing, ReadNarrowing(request));
  profile::FlameTree tree = profile::TreeBuilder().Build();
  const bool cut_below = !request.call_site.empty();  // what is shown is chosen afterwards
  if (!typed.impossible) {
    WHEREFORE_ASSIGN_OR_RETURN(
        tree, query::FlameByName(context_, typed.selection,
                                 {.narrowing = narrowing, .max_nodes = cut_below ? 0 : max_nodes},
                                 caller.cancel));
  }
  tree.type = typed.selection.type;
  tree.unit = query::TypeLabel(tree.type, "__unit__");
  if (!cut_below) return tree;
  return profile::Prune(query::UnderCallSite(tree, request.call_site), {.max_nodes = max_nodes});
}

// pprof: whole stacks with lines and addresses where the query is about whole profiles, else
// what the flame graph knows.
Result<std::string> PyroscopeApi::Pprof(const Caller& caller, const QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto range, ReadRange(request.start_ms, request.end_ms));
  WHEREFORE_ASSIGN_OR_RETURN(const auto typed,
                             ReadSelection(caller.tenant, request.type, request.selector, range));
  WHEREFORE_ASSIGN_OR_RETURN(const auto narrowing, ReadNarrowing(request));
  if (narrowing.empty() && request.call_site.empty() && !typed.impossible) {
    auto batch = query::Merged(context_, typed.selection, caller.cancel);
    if (!batch && batch.error().code() != Code::kNotFound) return std::move(batch).error();
    if (batch) {
      // The engine gives the whole family (samples and cpu, objects and space); one was asked for.
      std::erase_if(batch->profiles, [&](const profile::Profile& p) {
        return profile::TypeOf(*batch, p).Id() != typed.selection.type;
      });
      if (!batch->profiles.empty()) return formats::EncodePprof(*batch, {.named = true});
    }
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto tree, Tree(caller, request));
  return formats::EncodePprofOfTree(tree, typed.selection.type, range.from_ns);
}

Result<std::string> PyroscopeApi::MergeStacktraces(const Caller& caller,
                                                   const QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t max_nodes, ReadMaxNodes(request.max_nodes));
  formats::Stacktraces answer;
  if (request.format < 0 || request.format > static_cast<std::int64_t>(MergeFormat::kPprof)) {
    return Error(Code::kUnsupported, "unknown format: there are FLAMEGRAPH, TREE, DOT and PPROF");
  }
  const auto format = static_cast<MergeFormat>(request.format);
  if (format == MergeFormat::kPprof) {
    WHEREFORE_ASSIGN_OR_RETURN(answer.pprof, Pprof(caller, request));
    return formats::EncodeStacktraces(answer);
  }
  if (format == MergeFormat::kDot) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto whole, Tree(caller, request));
    answer.dot = Dot(whole, request.max_nodes);
    return formats::EncodeStacktraces(answer);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto tree, Tree(caller, request, max_nodes));
  if (format == MergeFormat::kTree) {
    answer.tree = formats::EncodePyroscopeTree(tree);
  } else {
    answer.graph = formats::ToFlameGraph(tree);
  }
  return formats::EncodeStacktraces(answer);
}

std::string PyroscopeApi::Dot(const profile::FlameTree& tree, std::int64_t max_nodes) {
  const std::size_t nodes = max_nodes > 0 ? static_cast<std::size_t>(max_nodes) : kDotNodes;
  return formats::EncodeDot(tree, tree.type, std::min(nodes, kMostDotNodes));
}

Result<std::string> PyroscopeApi::MergeProfile(const Caller& caller,
                                               const QuerierRequest& request) {
  return Pprof(caller, request);
}

Result<std::string> PyroscopeApi::Diff(const Caller& caller, const formats::DiffRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto graph, DiffGraph(caller, request));
  return formats::EncodeDiffAnswer(graph);
}

Result<formats::FlameGraph> PyroscopeApi::DiffGraph(const Caller& caller,
                                                    const formats::DiffRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t left_nodes, ReadMaxNodes(request.left.max_nodes));
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t right_nodes, ReadMaxNodes(request.right.max_nodes));
  WHEREFORE_ASSIGN_OR_RETURN(const auto left, Tree(caller, request.left));
  WHEREFORE_ASSIGN_OR_RETURN(const auto right, Tree(caller, request.right));
  const query::DiffTree diff = query::Diff(left, right);
  return formats::ToFlameGraphDiff(
      {.tree = &diff.tree, .left_total = diff.before, .left_self = diff.before_self},
      std::max(left_nodes, right_nodes));
}

}  // namespace wherefore::api
