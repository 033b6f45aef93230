// How many small requests one core handles over loopback: closed loops over keep-alive HTTP
// connections, and over gRPC.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "net/grpc.h"
#include "net/http.h"

namespace wherefore::net {
namespace {

int Connect(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) std::abort();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) std::abort();
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

// Process CPU time includes the client, so the server alone does better.
void SmallPosts(benchmark::State& state) {
  IoThreads io(1);
  auto router = std::make_shared<Router>();
  router->Add("POST", "/v1development/profiles",
              [](const HttpRequest&, const Respond& respond) { respond({}); });
  HttpServer server(io, {}, router);
  if (!server.Start()) std::abort();
  std::string request =
      "POST /v1development/profiles HTTP/1.1\r\nHost: localhost:4318\r\nUser-Agent: bench\r\n"
      "Content-Type: application/x-protobuf\r\nContent-Length: 215\r\nAccept-Encoding: "
      "gzip\r\n\r\n";
  request.append(215, 'x');
  std::vector<int> clients;
  clients.reserve(static_cast<std::size_t>(state.range(0)));
  for (int i = 0; i < state.range(0); ++i) clients.push_back(Connect(server.port()));
  std::array<char, 4096> answer{};
  for (auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    for (const int fd : clients) {
      if (send(fd, request.data(), request.size(), 0) < 0) std::abort();
    }
    for (const int fd : clients) {
      if (recv(fd, answer.data(), answer.size(), 0) <= 0) std::abort();
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  for (const int fd : clients) close(fd);
}
BENCHMARK(SmallPosts)->Arg(1)->Arg(32)->UseRealTime()->MeasureProcessCPUTime();

// The CPU time includes gRPC's client, which is the larger part.
void SmallGrpcCalls(benchmark::State& state) {
  IoThreads io(1);
  GrpcServer server(io, {}, [](const GrpcRequest&, const auto& respond) { respond({}); });
  if (!server.Start()) std::abort();
  grpc::GenericStub stub(grpc::CreateChannel(fmt::format("127.0.0.1:{}", server.port()),
                                             grpc::InsecureChannelCredentials()));
  const std::string body(215, 'x');
  const grpc::Slice slice(body);
  const grpc::ByteBuffer request(&slice, 1);
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer answer;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  };
  for (auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    grpc::CompletionQueue queue;
    std::vector<Call> calls(static_cast<std::size_t>(state.range(0)));
    for (Call& call : calls) {
      call.reader = stub.PrepareUnaryCall(&call.context, "/s/M", request, &queue);
      call.reader->StartCall();
      call.reader->Finish(&call.answer, &call.status, &call);
    }
    void* tag = nullptr;
    bool ok = false;
    for (std::size_t i = 0; i < calls.size(); ++i) queue.Next(&tag, &ok);
    for (const Call& call : calls) {
      if (!call.status.ok()) std::abort();
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(SmallGrpcCalls)->Arg(32)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace
}  // namespace wherefore::net
