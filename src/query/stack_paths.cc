// StackTries: the paths of single stacks.
#include "query/stack_paths.h"

#include <unordered_map>

#include "query/stack_tries.h"

namespace wherefore::query {
namespace {

// Paths of several tries in one list.
class PathList {
 public:
  explicit PathList(StackPaths& paths) : paths_(paths) {}

  // The end of a trie's path; `known`: by node of that trie, 0: not added yet.
  std::uint32_t Add(const TrieReading& trie, std::uint32_t node,
                    std::vector<std::uint32_t>& known) {
    way_.clear();
    const auto& nodes = trie.nodes();
    while (node != 0 && known[node] == 0) {
      way_.push_back(node);
      node = nodes[node].parent;
    }
    std::uint32_t at = node == 0 ? 0 : known[node];
    for (std::size_t i = way_.size(); i-- > 0;) {
      const profile::FlameFunction& function = trie.functions()[nodes[way_[i]].function];
      at = Child(at, FunctionId(function));
      known[way_[i]] = at;
    }
    return at;
  }

 private:
  std::uint32_t FunctionId(const profile::FlameFunction& function) {
    std::string key = function.name;
    key += '\0';
    key += function.module;
    const auto [at, fresh] =
        functions_.try_emplace(std::move(key), static_cast<std::uint32_t>(paths_.functions.size()));
    if (fresh) paths_.functions.push_back(function);
    return at->second;
  }
  std::uint32_t Child(std::uint32_t parent, std::uint32_t function) {
    const auto [at, fresh] = children_.try_emplace(std::uint64_t{parent} << 32U | function,
                                                   static_cast<std::uint32_t>(paths_.nodes.size()));
    if (fresh) paths_.nodes.push_back({parent, function});
    return at->second;
  }

  StackPaths& paths_;
  std::vector<std::uint32_t> way_;
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

}  // namespace

Result<StackPaths> StackTries::PathsOf(std::span<const Values> all, const CancelToken& cancel) {
  StackPaths paths;
  paths.ends.resize(all.size());
  PathList list(paths);
  ByService by_service;
  for (const Values& one : all) by_service[ServiceOf(one.dictionary)].push_back(&one);
  for (const auto& [key, values] : by_service) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto trie, Know(key, values, cancel));
    const std::vector<StackTrie::Need> needs = NeedsOf(values);
    while (true) {
      TrieReading reading(trie);
      if (reading.Knows(needs)) {
        std::vector<std::uint32_t> known(reading.nodes().size());
        for (const Values* one : values) {
          const auto& nodes = reading.StackNodes(one->dictionary);
          auto& ends = paths.ends[static_cast<std::size_t>(one - all.data())];
          for (const StackValue& v : one->stacks)
            ends.push_back(list.Add(reading, nodes[v.stack], known));
        }
        break;
      }
      reading.Release();  // it started over, or was pushed out meanwhile
      WHEREFORE_RETURN_IF_ERROR(trie->Know(needs, source_, cancel));
    }
  }
  return paths;
}

}  // namespace wherefore::query
