// What people take away: profiles, flame trees and differences as files. Whole, never pruned (but
// for the picture), with the lens they were asked for. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"
#include "net/http.h"
#include "profile/batch.h"
#include "profile/flame_tree.h"
#include "query/diff.h"

namespace wherefore::api {

// otlp, otlp-json or pprof: whole stacks with lines and addresses, as they came in.
[[nodiscard]] Result<net::HttpResponse> RenderBatch(const profile::Batch& batch,
                                                    const std::string& format);

struct FileTitle {
  std::string title;
  std::string subtitle;
  std::int64_t time_ns = 0;  // of the profile, for pprof
};
// Whether RenderTreeFile writes it.
[[nodiscard]] bool IsTreeFile(std::string_view format);
// folded, speedscope, svg, csv (every function), or pprof: functions only, which is all a tree has.
[[nodiscard]] Result<net::HttpResponse> RenderTreeFile(const profile::FlameTree& tree,
                                                       const std::string& format,
                                                       const FileTitle& title,
                                                       const CancelToken& cancel);

// Whether RenderDiffFile writes it.
[[nodiscard]] bool IsDiffFile(std::string_view format);
// folded: each stack with its values before and after; csv: every function of either side.
[[nodiscard]] Result<net::HttpResponse> RenderDiffFile(const query::DiffTree& diff,
                                                       const std::string& format,
                                                       const CancelToken& cancel);

}  // namespace wherefore::api
