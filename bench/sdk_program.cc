// One of the measured programs by itself, without libwherefore: bench/sdk_ab runs it with and without
// the preload.
//
//   sdk_program rounds                  how many rounds of work a microsecond has here
//   sdk_program NAME SLICES ROUNDS      does that much work: busy, alloc, lock, both or server
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sdk_programs.h"

using namespace wherefore::bench;  // NOLINT(google-build-using-namespace): this file is about nothing else

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "rounds") {
    std::printf("%d\n", RoundsPerMicrosecond());
    return 0;
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: sdk_program rounds | sdk_program busy|alloc|lock|both|server SLICES ROUNDS\n");
    return 2;
  }
  const int slices = std::atoi(argv[2]);
  const int rounds = std::atoi(argv[3]);
  if (name == "server") {
    static Server server(rounds);
    for (int i = 0; i < slices; ++i) server.Slice();
    std::exit(0);  // its threads wait for more and end with it
  }
  for (int i = 0; i < slices; ++i) {
    if (name == "busy") Busy(rounds);
    if (name == "alloc") Alloc(rounds);
    if (name == "lock") Lock(rounds);
    if (name == "both") Both(rounds);
  }
  return 0;
}
