#include "cli/alert_sender.h"

#include "cli/token.h"
#include "net/http_client.h"

namespace wherefore::cli {

Result<insight::SendAlerts> MakeAlertSender() {
  WHEREFORE_ASSIGN_OR_RETURN(auto made,
                             net::HttpClient::Make({.tls = {}, .max_response_bytes = 1U << 20U}));
  const std::shared_ptr<net::HttpClient> client = std::move(made);
  return insight::SendAlerts([client](const insight::AlertPost& post) -> Result<int> {
    net::HttpClient::Request request{.url = post.url,
                                     .body = post.body,
                                     .headers = {{"Content-Type", "application/json"}},
                                     .timeout_ns = post.receiver.timeout_ns,
                                     .cancel = post.cancel};
    if (!post.receiver.token_file.empty()) {
      WHEREFORE_ASSIGN_OR_RETURN(const std::string token, ReadToken(post.receiver.token_file));
      request.headers["Authorization"] = "Bearer " + token;
    }
    WHEREFORE_ASSIGN_OR_RETURN(const net::ClientResponse answer, client->Send(request));
    return answer.status;
  });
}

}  // namespace wherefore::cli
