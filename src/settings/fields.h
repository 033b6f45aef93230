// Tables of the keys of a configuration: one line per key says its name and how its value is read.
//
//   const Fields<BatchOptions> kBatch = {
//       {"timeout", Duration(&BatchOptions::timeout_ns)},
//       {"send_batch_size", Whole(&BatchOptions::min_size, 0, kMost)},
//   };
//   ReadMap(node, kBatch, options, problems);
//
// Where a value goes is a pointer to a member, or any function from the struct to a reference; In()
// joins two. A null value keeps the default. Whatever is wrong goes to `problems` with place, key
// and what was expected, and reading goes on. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "settings/nearest.h"
#include "settings/node.h"
#include "settings/problems.h"

namespace wherefore::settings {

template <typename T>
struct Field {
  std::string_view name;
  std::function<void(const Entry&, T&, Problems&)> read;
};
template <typename T>
using Fields = std::vector<Field<T>>;

// The value of a scalar, or what was expected. Never for null.
[[nodiscard]] Result<std::string> ReadText(const Node& node);
// true and false.
[[nodiscard]] Result<bool> ReadFlag(const Node& node);
[[nodiscard]] Result<std::int64_t> ReadWhole(const Node& node, std::int64_t least,
                                             std::int64_t most);
[[nodiscard]] Result<double> ReadReal(const Node& node, double least, double most);
// As Go writes them: 200ms, 1m30s, 1.5h. Not negative; a bare number only if it is 0.
[[nodiscard]] Result<std::int64_t> ReadDuration(const Node& node);
// 512KB, 10MB, 64MiB, 1048576.
[[nodiscard]] Result<std::int64_t> ReadBytes(const Node& node);
// A share of 1: "90%"; without the sign a number above 1 counts as per cent, another as a share.
[[nodiscard]] Result<double> ReadShare(const Node& node);
// The same, but a number without the sign is per cent.
[[nodiscard]] Result<double> ReadPercent(const Node& node);

void FailUnknownKey(const Entry& entry, std::span<const std::string_view> known,
                    Problems& problems);
// False, with an error, if it is not a map (not: null).
[[nodiscard]] bool ExpectMap(const Node& node, std::string_view key, Problems& problems);
[[nodiscard]] bool ExpectList(const Node& node, std::string_view key, Problems& problems);

template <typename T>
void ReadMap(const Node& node, const Fields<T>& fields, T& out, Problems& problems) {
  for (const Entry& entry : node.entries) {
    const auto field = std::ranges::find(fields, entry.key, &Field<T>::name);
    if (field != fields.end()) {
      field->read(entry, out, problems);
      continue;
    }
    std::vector<std::string_view> names;
    for (const Field<T>& known : fields) names.push_back(known.name);
    FailUnknownKey(entry, names, problems);
  }
}

// The member of a member.
template <typename Outer, typename Inner>
auto In(Outer outer, Inner inner) {
  return [outer, inner](auto& out) -> auto& { return std::invoke(inner, std::invoke(outer, out)); };
}

// A field that `read` (Node -> Result) gives the value of.
template <typename Member, typename Read>
auto Scalar(Member member, Read read) {
  return [member, read](const Entry& entry, auto& out, Problems& problems) {
    if (entry.value.is_null()) return;
    auto value = read(entry.value);
    if (!value) {
      problems.Fail(entry.value.place, "`" + entry.key + "`: " + value.error().message() +
                                           ", not " + entry.value.Description());
      return;
    }
    auto& to = std::invoke(member, out);
    to = static_cast<std::remove_cvref_t<decltype(to)>>(*std::move(value));
  };
}

template <typename Member>
auto Text(Member member) {
  return Scalar(member, ReadText);
}
template <typename Member>
auto Flag(Member member) {
  return Scalar(member, ReadFlag);
}
template <typename Member>
auto Whole(Member member, std::int64_t least = 0,
           std::int64_t most = std::numeric_limits<std::int32_t>::max()) {
  return Scalar(member, [=](const Node& node) { return ReadWhole(node, least, most); });
}
template <typename Member>
auto Real(Member member, double least, double most) {
  return Scalar(member, [=](const Node& node) { return ReadReal(node, least, most); });
}
template <typename Member>
auto Duration(Member member) {
  return Scalar(member, ReadDuration);
}
template <typename Member>
auto Bytes(Member member) {
  return Scalar(member, ReadBytes);
}
template <typename Member>
auto Share(Member member) {
  return Scalar(member, ReadShare);
}
template <typename Member>
auto Percent(Member member) {
  return Scalar(member, ReadPercent);
}

// One of several words.
template <typename Member, typename Value>
auto Choice(Member member, std::vector<std::pair<std::string_view, Value>> words) {
  return Scalar(member, [words](const Node& node) -> Result<Value> {
    std::vector<std::string_view> names;
    for (const auto& [word, value] : words) {
      if (node.text == word && node.kind == Node::Kind::kScalar) return value;
      names.push_back(word);
    }
    std::string list;
    for (const std::string_view name : names) {
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    return Error(Code::kInvalid, "expected one of " + list);
  });
}

// The same for text that is kept as it is.
template <typename Member>
auto OneOf(Member member, std::initializer_list<std::string_view> words) {
  std::vector<std::pair<std::string_view, std::string>> pairs;
  for (const std::string_view word : words) pairs.emplace_back(word, std::string(word));
  return Choice(member, std::move(pairs));
}

// A list of scalars, each read by `read`.
template <typename Member, typename Read>
auto List(Member member, Read read) {
  return [member, read](const Entry& entry, auto& out, Problems& problems) {
    if (!ExpectList(entry.value, entry.key, problems)) return;
    auto& to = std::invoke(member, out);
    to.clear();
    for (const Node& item : entry.value.items) {
      auto value = read(item);
      if (value) {
        to.push_back(*std::move(value));
      } else {
        problems.Fail(item.place, "`" + entry.key + "`: " + value.error().message() + ", not " +
                                      item.Description());
      }
    }
  };
}
template <typename Member>
auto Texts(Member member) {
  return List(member, ReadText);
}

// Names and texts; one whose value is empty (a variable that is not set) is left out.
template <typename Member>
auto TextMap(Member member) {
  return [member](const Entry& entry, auto& out, Problems& problems) {
    if (!ExpectMap(entry.value, entry.key, problems)) return;
    for (const Entry& pair : entry.value.entries) {
      if (pair.value.is_null()) continue;
      auto text = ReadText(pair.value);
      if (!text) {
        problems.Fail(pair.value.place, "`" + pair.key + "`: " + text.error().message() + ", not " +
                                            pair.value.Description());
      } else if (!text->empty()) {
        std::invoke(member, out)[pair.key] = *std::move(text);
      }
    }
  };
}

// A map with a table of its own.
template <typename Member, typename Inner>
auto Nested(Member member, const Fields<Inner>& fields) {
  return [member, &fields](const Entry& entry, auto& out, Problems& problems) {
    if (!ExpectMap(entry.value, entry.key, problems)) return;
    ReadMap(entry.value, fields, std::invoke(member, out), problems);
  };
}
// The same for an optional member, which the key itself switches on, even without a value.
template <typename Member, typename Inner>
auto Present(Member member, const Fields<Inner>& fields) {
  return [member, &fields](const Entry& entry, auto& out, Problems& problems) {
    if (!ExpectMap(entry.value, entry.key, problems)) return;
    ReadMap(entry.value, fields, std::invoke(member, out).emplace(), problems);
  };
}
// A list of maps.
template <typename Member, typename Inner>
auto Maps(Member member, const Fields<Inner>& fields) {
  return [member, &fields](const Entry& entry, auto& out, Problems& problems) {
    if (!ExpectList(entry.value, entry.key, problems)) return;
    for (const Node& item : entry.value.items) {
      if (!ExpectMap(item, entry.key, problems)) continue;
      Inner one{};
      ReadMap(item, fields, one, problems);
      std::invoke(member, out).push_back(std::move(one));
    }
  };
}

// A key other programs know and this one does not need.
inline auto Ignored(std::string_view why) {
  return [why](const Entry& entry, auto& /*out*/, Problems& problems) {
    problems.Warn(entry.place, "`" + entry.key + "` has no effect here: " + std::string(why));
  };
}

}  // namespace wherefore::settings
