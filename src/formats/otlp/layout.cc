#include "formats/otlp/layout.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace wherefore::formats {

namespace {

// How one sample uses its fields: all that the vote looks at.
struct Shape {
  bool packed2 = false, packed3 = false, packed4 = false, packed5 = false;
  int single2 = 0, single3 = 0, single4 = 0, single5 = 0;
  std::vector<std::uint64_t> numbers2;
  std::size_t times = 0;
};

// Whether this could be a list of attributes: known, not null, no duplicates.
bool IsAttributeList(std::vector<std::uint64_t> numbers, std::size_t attributes) {
  std::ranges::sort(numbers);
  const bool known = numbers.front() != 0 && numbers.back() < attributes;
  return known && std::ranges::adjacent_find(numbers) == numbers.end();
}

Shape ShapeOf(Pbf r) {
  Shape s;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(2):
        s.packed2 = true;
        AppendPackedVarints(GetView(r), s.numbers2);
        break;
      case VarintKey(2):
        ++s.single2;
        s.numbers2.push_back(r.get_uint64());
        break;
      case LenKey(3):
        s.packed3 = true;
        r.skip();
        break;
      case VarintKey(3):
        ++s.single3;
        r.skip();
        break;
      case LenKey(4):
        s.packed4 = true;
        r.skip();
        break;
      case VarintKey(4):
        ++s.single4;
        r.skip();
        break;
      case LenKey(5):
        s.packed5 = true;
        s.times += GetView(r).size() / 8;
        break;
      case Fixed64Key(5):
        ++s.single5;
        ++s.times;
        r.skip();
        break;
      default:
        r.skip();
    }
  }
  return s;
}

struct Votes {
  int seen = 0;
  int current = 0, old = 0;              // the shape allows only one layout
  int maybe_current = 0, maybe_old = 0;  // field 2 and times: attributes, or values?
};

// Field:    2            3            4          5
// current   attributes*  link         values*    times*     (* repeated: normally packed)
// old       values*      attributes*  link       times*
void Vote(const Shape& s, std::size_t attributes, Votes& votes) {
  const bool has2 = s.packed2 || s.single2 > 0;
  const bool has5 = s.packed5 || s.single5 > 0;
  // NOLINTBEGIN(bugprone-branch-clone): the order of the rules is what matters
  if (s.packed3) {
    ++votes.old;
  } else if (s.packed4 || s.single4 > 1) {
    ++votes.current;
  } else if (s.single4 == 1) {
    // A link in the old layout, or the only value of a current sender that does not pack.
    const bool unpacked = s.single2 > 0 || s.single5 > 0 || (!has2 && !has5);
    ++(unpacked ? votes.current : votes.old);
  } else if (has2 && !has5) {
    ++votes.old;  // attributes alone would be a sample without a value
  } else if (s.single3 > 0) {
    ++votes.current;
  } else if (!s.numbers2.empty() && has5) {
    const bool values = s.numbers2.size() == s.times && !IsAttributeList(s.numbers2, attributes);
    ++(values ? votes.maybe_old : votes.maybe_current);
  }
  // NOLINTEND(bugprone-branch-clone)
}

}  // namespace

Layout DetectLayout(std::string_view request, std::size_t attributes) {
  constexpr int kMaxSamples = 64;  // samples of one profile
  constexpr int kMaxSamplesInAll = 512;
  constexpr auto kLen = protozero::pbf_wire_type::length_delimited;
  Votes votes;
  Pbf root = Reader(request);
  while (votes.seen < kMaxSamplesInAll && root.next(envelope::kResources, kLen)) {
    Pbf resources = root.get_message();
    while (votes.seen < kMaxSamplesInAll && resources.next(envelope::kScopes, kLen)) {
      Pbf scopes = resources.get_message();
      while (votes.seen < kMaxSamplesInAll && scopes.next(envelope::kItems, kLen)) {
        Pbf prof = scopes.get_message();
        for (int n = 0; n < kMaxSamples && prof.next(profile_field::kSamples, kLen); ++n) {
          Vote(ShapeOf(prof.get_message()), attributes, votes);
          ++votes.seen;
        }
      }
    }
  }
  if (votes.old != votes.current)
    return votes.old > votes.current ? Layout::kOld : Layout::kCurrent;
  return votes.maybe_old > votes.maybe_current ? Layout::kOld : Layout::kCurrent;
}

bool IsLayout18(Pbf profile) {
  while (profile.next()) {
    switch (profile.tag_and_type()) {
      case LenKey(old_profile::kId):          // a count since 1.9
      case VarintKey(old_profile::kDropped):  // the payload's format since 1.9
      case LenKey(old_profile::kAttributes):  // not used since 1.9
      case VarintKey(old_profile::kAttributes):
      case VarintKey(old_profile::kComments):  // an unpacked list; the id since 1.9
        return true;
      case LenKey(old_profile::kComments): {
        const std::size_t size = GetView(profile).size();
        if (size != 0 && size != 16) return true;
        break;
      }
      default:
        profile.skip();
    }
  }
  return false;
}

}  // namespace wherefore::formats
