#include "cli/serve_addresses.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/log.h"
#include "cli/version.h"

namespace wherefore::cli {
namespace {

std::string Url(const ShownAddresses& a, std::uint16_t port) {
  const std::string host = a.host.empty() ? "127.0.0.1" : a.host;
  return fmt::format("{}://{}:{}", a.tls ? "https" : "http",
                     host.find(':') != std::string::npos ? "[" + host + "]" : host, port);
}
std::string OpampUrl(const ShownAddresses& a) {
  return a.opamp_port == 0 ? std::string() : Url(a, a.opamp_port) + "/v1/opamp";
}

// The first receiver of its kind; "" if there is none.
std::string First(const ShownAddresses& addresses, bool grpc) {
  for (const auto& receiver : addresses.receivers) {
    if (receiver.grpc == grpc) return receiver.address;
  }
  return {};
}

std::string Json(const ShownAddresses& addresses) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Field("pid", std::int64_t{getpid()}).Field("http", PageUrl(addresses));
  json.Field("otlp_http", First(addresses, false)).Field("otlp_grpc", First(addresses, true));
  json.Field("opamp", OpampUrl(addresses));
  json.Key("receivers").BeginArray();
  for (const auto& receiver : addresses.receivers) {
    json.BeginObject().Field("receiver", receiver.receiver);
    json.Field("protocol", receiver.grpc ? "grpc" : "http").Field("address", receiver.address);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return text + "\n";
}

std::filesystem::path FileIn(const std::string& data) {
  return std::filesystem::path(data) / "addresses.json";
}

}  // namespace

std::string PageUrl(const ShownAddresses& addresses) {
  return Url(addresses, addresses.http_port);
}

void WriteAddresses(const ShownAddresses& addresses, const std::string& data) {
  const std::filesystem::path path = FileIn(data);
  const std::filesystem::path part = path.string() + ".part";
  std::error_code error = std::make_error_code(std::errc::no_space_on_device);
  if (std::ofstream(part) << Json(addresses) << std::flush) {
    std::filesystem::rename(part, path, error);
  } else {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
  }
  if (error) {
    Log(LogLevel::kWarn, "addresses.json could not be written",
        {{"path", path.string()}, {"error", error.message()}});
  }
}

void RemoveAddresses(const std::string& data) {
  std::error_code ignored;
  std::filesystem::remove(FileIn(data), ignored);
}

void PrintAddresses(const ShownAddresses& addresses, const std::string& data) {
  fmt::print("Wherefore {}\n  page and API  {}\n", kVersion, PageUrl(addresses));
  for (const auto& receiver : addresses.receivers) {
    const std::string_view what = receiver.grpc ? "OTLP/gRPC" : "OTLP/HTTP";
    fmt::print("  {:<13} {}{}\n", what, receiver.address,
               receiver.receiver == "otlp" ? "" : fmt::format(" ({})", receiver.receiver));
  }
  if (addresses.opamp_port != 0) fmt::print("  OpAMP         {}\n", OpampUrl(addresses));
  fmt::print("  data          {}\n", data);
  std::fflush(stdout);
}

}  // namespace wherefore::cli
