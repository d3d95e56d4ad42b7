#include "protocols/auth/blake2b.h"

#include <algorithm>
#include <bit>

namespace sluice::auth {
namespace {

constexpr std::array<uint64_t, 8> kInitial = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                              0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                              0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// RFC 7693 section 2.7; rounds 10 and 11 begin anew.
constexpr uint8_t kSigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

uint64_t LoadLittle(const uint8_t* bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}

void Mix(uint64_t& a, uint64_t& b, uint64_t& c, uint64_t& d, uint64_t x, uint64_t y) {
  a += b + x;
  d = std::rotr(d ^ a, 32);
  c += d;
  b = std::rotr(b ^ c, 24);
  a += b + y;
  d = std::rotr(d ^ a, 16);
  c += d;
  b = std::rotr(b ^ c, 63);
}

}  // namespace

Blake2b::Blake2b(size_t digest_bytes, absl::string_view key) : digest_bytes_(digest_bytes), state_(kInitial) {
  state_[0] ^= 0x01010000 ^ (uint64_t{key.size()} << 8) ^ digest_bytes;
  if (key.empty()) return;
  Add(key);
  filled_ = block_.size();  // the rest of the key's block is 0
  total_ = block_.size();
}

void Blake2b::Add(absl::string_view bytes) {
  while (!bytes.empty()) {
    // A full block waits until it is known not to be the last one.
    if (filled_ == block_.size()) {
      Compress(/*last=*/false);
      block_.fill(0);
      filled_ = 0;
    }
    const size_t part = std::min(bytes.size(), block_.size() - filled_);
    std::copy_n(bytes.begin(), part, block_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += part;
    total_ += part;
    bytes.remove_prefix(part);
  }
}

void Blake2b::AddField(absl::string_view bytes) {
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(uint64_t{bytes.size()} >> (8 * i));
  Add(absl::string_view(length, sizeof(length)));
  Add(bytes);
}

void Blake2b::Compress(bool last) {
  uint64_t v[16], m[16];
  for (size_t i = 0; i < 8; ++i) {
    v[i] = state_[i];
    v[i + 8] = kInitial[i];
  }
  v[12] ^= total_;
  if (last) v[14] = ~v[14];
  for (size_t i = 0; i < 16; ++i) m[i] = LoadLittle(&block_[8 * i]);
  for (int round = 0; round < 12; ++round) {
    const uint8_t* s = kSigma[round % 10];
    Mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
    Mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
    Mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
    Mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
    Mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
    Mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
    Mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
    Mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
  }
  for (size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
}

std::string Blake2b::Finish() {
  Compress(/*last=*/true);
  std::string digest(digest_bytes_, '\0');
  for (size_t i = 0; i < digest_bytes_; ++i) digest[i] = static_cast<char>(state_[i / 8] >> (8 * (i % 8)));
  return digest;
}

}  // namespace sluice::auth
