#include "protocols/auth/radius/testing/answer.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdint>

namespace sluice::auth::radius {

std::string MakeAttribute(Attribute type, absl::string_view value) {
  std::string bytes;
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(value.size() + 2);
  bytes.append(value.data(), value.size());
  return bytes;
}

std::string MakeAnswer(Code code, uint8_t id, const Authenticator& request_authenticator, absl::string_view secret,
                       const std::string& attributes, bool with_proof) {
  const std::string proof =
      with_proof ? MakeAttribute(Attribute::kMessageAuthenticator, std::string(16, '\0')) : std::string();
  const size_t length = kHeaderBytes + proof.size() + attributes.size();
  std::string packet;
  packet += static_cast<char>(code);
  packet += static_cast<char>(id);
  packet += static_cast<char>(length >> 8);
  packet += static_cast<char>(length & 0xff);
  packet.append(reinterpret_cast<const char*>(request_authenticator.data()), request_authenticator.size());
  packet += proof + attributes;
  unsigned char digest[16];
  if (with_proof) {
    HMAC(EVP_md5(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(packet.data()), packet.size(), digest, nullptr);
    std::copy(digest, digest + 16, packet.begin() + kHeaderBytes + 2);
  }
  const std::string signed_bytes = packet + std::string(secret);
  EVP_Digest(signed_bytes.data(), signed_bytes.size(), digest, nullptr, EVP_md5(), nullptr);
  std::copy(digest, digest + 16, packet.begin() + 4);
  return packet;
}

}  // namespace sluice::auth::radius
