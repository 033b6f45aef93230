#include "formats/jfr/labels.h"

#include <algorithm>

#include <fmt/format.h>

#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

constexpr Tag kContexts = 1;
constexpr Tag kStrings = 2;
constexpr Tag kContextLabels = 1;
constexpr Tag kKey = 1;  // of a map's entry
constexpr Tag kValue = 2;

std::pair<std::int64_t, std::string_view> TextEntry(Pbf r) {
  std::pair<std::int64_t, std::string_view> entry;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(kKey):
        entry.first = r.get_int64();
        break;
      case LenKey(kValue):
        entry.second = GetView(r);
        break;
      default:
        r.skip();
    }
  }
  return entry;
}

std::pair<std::int64_t, std::int64_t> NumberEntry(Pbf r) {
  std::pair<std::int64_t, std::int64_t> entry;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(kKey):
        entry.first = r.get_int64();
        break;
      case VarintKey(kValue):
        entry.second = r.get_int64();
        break;
      default:
        r.skip();
    }
  }
  return entry;
}

}  // namespace

Result<> JfrLabels::Read(std::string_view bytes) try {
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(kContexts): {
        contexts_.push_back(TextEntry(r.get_message()));
        // Refuse malformed ones here, not when an event refers to them.
        for (Pbf c = Reader(contexts_.back().second); c.next();) {
          if (c.tag_and_type() == LenKey(kContextLabels)) {
            NumberEntry(c.get_message());
          } else {
            c.skip();
          }
        }
        break;
      }
      case LenKey(kStrings):
        strings_.push_back(TextEntry(r.get_message()));
        break;
      default:
        r.skip();
    }
  }
  using Entry = Table::value_type;
  std::ranges::stable_sort(contexts_, {}, &Entry::first);
  std::ranges::stable_sort(strings_, {}, &Entry::first);
  return {};
} catch (const protozero::exception& e) {
  return Error(Code::kCorrupt,
               fmt::format("labels: entry {}: {}", contexts_.size() + strings_.size(), e.what()));
}

const std::string_view* JfrLabels::Find(const Table& table, std::int64_t id) {
  using Entry = Table::value_type;
  // Of equal keys the last wins, as in every protobuf map.
  const auto it = std::ranges::upper_bound(table, id, {}, &Entry::first);
  return it != table.begin() && std::prev(it)->first == id ? &std::prev(it)->second : nullptr;
}

bool JfrLabels::Context(std::int64_t id,
                        std::vector<std::pair<std::int64_t, std::int64_t>>& out) const {
  out.clear();
  const std::string_view* context = Find(contexts_, id);
  if (context == nullptr) return false;
  for (Pbf c = Reader(*context); c.next();) {
    if (c.tag_and_type() == LenKey(kContextLabels)) {
      out.push_back(NumberEntry(c.get_message()));
    } else {
      c.skip();
    }
  }
  std::ranges::sort(out);
  return true;
}

}  // namespace wherefore::formats
