#include "net/test_grpc.h"

#include <chrono>

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace wherefore::net {

GrpcOutcome CallGrpc(std::uint16_t port, const std::string& method, std::string_view body,
                     const Headers& metadata, bool gzip) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  grpc::GenericStub stub(grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", port),
                                                   grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  if (gzip) context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  for (const auto& [name, value] : metadata) context.AddMetadata(name, value);
  const grpc::Slice slice(body.data(), body.size());
  const grpc::ByteBuffer request(&slice, 1);
  grpc::CompletionQueue queue;
  auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, &queue);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  GrpcOutcome outcome{status.error_code(), status.error_message(), {}, status.error_details()};
  std::vector<grpc::Slice> slices;
  if (status.ok() && answer.Dump(&slices).ok()) {
    for (const auto& s : slices)
      outcome.body.append(reinterpret_cast<const char*>(s.begin()), s.size());
  }
  return outcome;
}

}  // namespace wherefore::net
