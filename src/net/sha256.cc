#include "net/sha256.h"

#include <new>

#include <openssl/evp.h>

namespace wherefore::net {

std::array<std::uint8_t, 32> Sha256(std::string_view text) {
  std::array<std::uint8_t, 32> digest{};
  // Fails only without memory.
  if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();
  }
  return digest;
}

}  // namespace wherefore::net
