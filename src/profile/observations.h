// How many observations a sample stands for, which gives the sampling error of every share.
//
// Most senders' numbers follow from what they send (ImpliedObservations). A sender that adds up
// several observations per stack, of which no two need to weigh the same, gives the numbers beside
// the samples: an attribute of the profile, bytes, one varint per sample in their order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/batch.h"

namespace wherefore::profile {

inline constexpr std::string_view kObservationsKey = "wherefore.profile.observations";

// As the decoder found it, else as implied.
[[nodiscard]] std::int64_t Observations(const Batch& batch, const Profile& profile,
                                        std::size_t sample);
// False: nothing tells how many observations a sample adds up, as with the bytes of a pprof file.
[[nodiscard]] bool ObservationsKnown(const Batch& batch, const Profile& profile);
// The number of timestamps, or of a count of samples, or value / period where both are the same
// type, else 1.
[[nodiscard]] std::int64_t ImpliedObservations(const Batch& batch, const Profile& profile,
                                               std::size_t sample);

// As bytes of that attribute; empty where they follow from the samples anyway.
[[nodiscard]] std::string PackedObservations(const Batch& batch, const Profile& profile);

[[nodiscard]] std::string PackObservations(std::span<const std::uint32_t> counts);
// False: it is not `samples` numbers of 32 bits.
[[nodiscard]] bool UnpackObservations(std::string_view packed, std::size_t samples,
                                      std::vector<std::uint32_t>& counts);

}  // namespace wherefore::profile
