// A gRPC server on loopback and gRPC's own generic client, for tests of src/net.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "net/grpc.h"

namespace wherefore::net {

struct GrpcAnswer {
  grpc::Status status;
  std::string body;
  std::string details;
};

class GrpcTestClient {
 public:
  explicit GrpcTestClient(std::uint16_t port,
                          const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                              grpc::InsecureChannelCredentials(),
                          std::string_view host = "127.0.0.1") {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    channel_ = grpc::CreateCustomChannel(fmt::format("{}:{}", host, port), credentials, arguments);
    stub_.emplace(channel_);
  }

  GrpcAnswer Call(grpc::ClientContext& context, std::string_view body,
                  const std::string& method = "/s/M") {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const grpc::Slice slice(body.data(), body.size());
    const grpc::ByteBuffer request(&slice, 1);
    grpc::CompletionQueue queue;
    auto reader = stub_->PrepareUnaryCall(&context, method, request, &queue);
    reader->StartCall();
    grpc::ByteBuffer answer;
    GrpcAnswer outcome;
    reader->Finish(&answer, &outcome.status, &queue);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    if (outcome.status.ok() && answer.Dump(&slices).ok()) {
      for (const auto& s : slices)
        outcome.body.append(reinterpret_cast<const char*>(s.begin()), s.size());
    }
    outcome.details = outcome.status.error_details();
    return outcome;
  }
  GrpcAnswer Call(std::string_view body, const std::string& method = "/s/M") {
    grpc::ClientContext context;
    return Call(context, body, method);
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::optional<grpc::GenericStub> stub_;
};

inline void EchoCall(const GrpcRequest& request, const std::function<void(GrpcResponse)>& respond) {
  if (request.method != "/s/M") {
    return respond({12, "no method " + request.method, {}, "details \x01 bytes"});
  }
  respond({0, {}, "echo " + *request.body, {}});
}

inline IoThreads& Io() {
  static IoThreads io(1);
  return io;
}

inline std::unique_ptr<GrpcServer> Started(GrpcServerOptions options = {},
                                           GrpcHandler handler = EchoCall) {
  auto server = std::make_unique<GrpcServer>(Io(), std::move(options), std::move(handler));
  const auto started = server->Start();
  EXPECT_TRUE(started) << started.error().message();
  return server;
}

// A channel with a connection of its own.
inline std::shared_ptr<grpc::Channel> OwnChannel(std::uint16_t port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace wherefore::net
