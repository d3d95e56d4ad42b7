#ifndef SLUICE_PROTOCOLS_AUTH_BLAKE2B_H_
#define SLUICE_PROTOCOLS_AUTH_BLAKE2B_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::auth {

// BLAKE2b (RFC 7693) of any length of digest, with or without a key; OpenSSL 3.0 has the one of 64 bytes only, which
// is another function and no longer form of the others.
//
//   Blake2b hash(32, key);
//   hash.Add(text);
//   std::string digest = hash.Finish();
//
// Thread-compatible.
class Blake2b {
 public:
  static constexpr size_t kMostBytes = 64;

  // REQUIRES: 1 <= digest_bytes <= kMostBytes, key.size() <= kMostBytes.
  explicit Blake2b(size_t digest_bytes, absl::string_view key = {});

  void Add(absl::string_view bytes);
  // The string with its length before it, so that no two sequences of fields hash the same.
  void AddField(absl::string_view bytes);
  std::string Finish();

 private:
  void Compress(bool last);

  const size_t digest_bytes_;
  std::array<uint64_t, 8> state_;
  std::array<uint8_t, 128> block_{};
  size_t filled_ = 0;
  uint64_t total_ = 0;  // 2^64 bytes are more than anybody will hash
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_BLAKE2B_H_
