// Marks answers that lack data which is damaged: the header Wherefore-Incomplete says what is
// missing, on every form an answer can have. Any thread.
#pragma once

#include <string_view>

#include "api/api.h"
#include "net/http.h"
#include "query/stored_types.h"

namespace wherefore::api {

inline constexpr std::string_view kIncompleteHeader = "Wherefore-Incomplete";

// What is missing of a time goes into the headers of an answer.
void MarkIncomplete(const Operations& operations, std::uint32_t tenant,
                    const query::TimeRange& range, net::Headers& headers);
// By the request's from, to and since; one that names no time, as a trace by its id, is about all.
void MarkIncomplete(const Operations& operations, std::uint32_t tenant,
                    const net::HttpRequest& request, net::HttpResponse& response);

}  // namespace wherefore::api
