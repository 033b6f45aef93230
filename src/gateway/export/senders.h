// The senders of each kind of exporter. Options that cannot work are kInvalid, with the option's
// name.
#pragma once

#include <memory>

#include "base/result.h"
#include "gateway/export/exporter.h"
#include "gateway/export/sender.h"

namespace wherefore::gateway {

[[nodiscard]] Result<std::unique_ptr<Sender>> MakeOtlpHttpSender(const ExporterOptions& options);
[[nodiscard]] Result<std::unique_ptr<Sender>> MakeOtlpGrpcSender(const ExporterOptions& options);
[[nodiscard]] Result<std::unique_ptr<Sender>> MakePyroscopeSender(const ExporterOptions& options);
[[nodiscard]] Result<std::unique_ptr<Sender>> MakeFileSender(const ExporterOptions& options);

// What several of them share.
[[nodiscard]] net::TlsClientOptions ClientTls(const TlsOptions& options);
[[nodiscard]] Result<std::unique_ptr<net::HttpClient>> MakeHttpClient(
    const ExporterOptions& options);
// The configured headers, and the tenant unless they name one.
[[nodiscard]] net::Headers HeadersFor(const ExporterOptions& options, const std::string& tenant);
// Level 1 unless another is configured: on merged requests it takes a third of the CPU time of
// zlib's own level 6, for 6 % more bytes.
[[nodiscard]] std::string GzipFor(const ExporterOptions& options, std::string_view bytes);
// endpoint + path with one slash between them.
[[nodiscard]] std::string JoinUrl(std::string_view endpoint, std::string_view path);

}  // namespace wherefore::gateway
