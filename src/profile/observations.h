// How many observations a sample stands for, which gives the sampling error of every share. Pure
// functions; any thread.
//
// For most senders the number follows from what they send (ImpliedObservations). A sender that adds
// up several observations of different weight per stack sends the numbers beside the samples, in a
// profile attribute: bytes, one varint per sample, in order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/batch.h"

namespace wherefore::profile {

inline constexpr std::string_view kObservationsKey = "wherefore.profile.observations";

// The decoder's count, or else the implied one.
[[nodiscard]] std::int64_t Observations(const Batch& batch, const Profile& profile,
                                        std::size_t sample);
// False: nothing says how many observations a sample adds up, as with the bytes of a pprof file.
[[nodiscard]] bool ObservationsKnown(const Batch& batch, const Profile& profile);
// The number of timestamps; or the value, if it is a count of samples; or value / period, if both
// have the same type; else 1.
[[nodiscard]] std::int64_t ImpliedObservations(const Batch& batch, const Profile& profile,
                                               std::size_t sample);

// The attribute's bytes; empty if the numbers follow from the samples anyway.
[[nodiscard]] std::string PackedObservations(const Batch& batch, const Profile& profile);

[[nodiscard]] std::string PackObservations(std::span<const std::uint32_t> counts);
// False unless `packed` holds `samples` numbers of 32 bits.
[[nodiscard]] bool UnpackObservations(std::string_view packed, std::size_t samples,
                                      std::vector<std::uint32_t>& counts);

}  // namespace wherefore::profile
