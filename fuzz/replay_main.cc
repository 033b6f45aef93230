// Runs a fuzz target over its committed corpus without libFuzzer, so that every compiler and every
// test run replays the regressions. Arguments: files or folders.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void Replay(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  // Every prefix of a small input too: truncation is the commonest damage.
  const std::size_t step = bytes.size() > 2000 ? bytes.size() / 200 : 1;
  for (std::size_t size = 0; size < bytes.size(); size += step) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), size);
  }
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        Replay(entry.path());
        ++files;
      }
    } else {
      Replay(argv[i]);
      ++files;
    }
  }
  std::printf("replayed %d corpus files\n", files);
  return files == 0 ? 1 : 0;
}
