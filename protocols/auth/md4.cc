#include "protocols/auth/md4.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice::auth {
namespace {

struct State {
  uint32_t word[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
};

uint32_t LoadLittle(const char* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// The three rounds of RFC 1320 section 3.4: their functions, constants, order of words and shifts.
void AddBlock(const char* block, State& state) {
  static constexpr uint8_t kOrder[3][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                            {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15},
                                            {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15}};
  static constexpr int kShift[3][4] = {{3, 7, 11, 19}, {3, 5, 9, 13}, {3, 9, 11, 15}};
  static constexpr uint32_t kConstant[3] = {0, 0x5a827999, 0x6ed9eba1};
  uint32_t v[4];
  for (int i = 0; i < 4; ++i) v[i] = state.word[i];
  for (int round = 0; round < 3; ++round) {
    for (int step = 0; step < 16; ++step) {
      uint32_t& a = v[(16 - step) % 4];
      const uint32_t b = v[(17 - step) % 4];
      const uint32_t c = v[(18 - step) % 4];
      const uint32_t d = v[(19 - step) % 4];
      const uint32_t mixed = round == 0 ? (b & c) | (~b & d) : round == 1 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
      a = std::rotl(a + mixed + LoadLittle(block + 4 * kOrder[round][step]) + kConstant[round],
                    kShift[round][step % 4]);
    }
  }
  for (int i = 0; i < 4; ++i) state.word[i] += v[i];
}

// The next character of UTF-8 (RFC 3629), which is taken away; nothing where it is malformed.
std::optional<uint32_t> TakeUtf8(absl::string_view& text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return std::nullopt;
  uint32_t value = bytes == 1 ? first : first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    value = value << 6 | (next & 0x3f);
  }
  const bool overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  if (overlong || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return std::nullopt;
  text.remove_prefix(bytes);
  return value;
}

void AppendUnit(uint32_t unit, std::string& out) {
  out.push_back(static_cast<char>(unit));
  out.push_back(static_cast<char>(unit >> 8));
}

std::optional<std::string> ToUtf16(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::optional<uint32_t> value = TakeUtf8(text);
    if (!value.has_value()) return std::nullopt;
    if (*value < 0x10000) {
      AppendUnit(*value, result);
    } else {
      AppendUnit(0xd800 + ((*value - 0x10000) >> 10), result);
      AppendUnit(0xdc00 + ((*value - 0x10000) & 0x3ff), result);
    }
  }
  return result;
}

}  // namespace

std::string Md4(absl::string_view bytes) {
  State state;
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (; bytes.size() >= 64; bytes.remove_prefix(64)) AddBlock(bytes.data(), state);
  std::string tail(bytes);
  tail.push_back('\x80');
  tail.resize(tail.size() <= 56 ? 56 : 120, '\0');
  for (int i = 0; i < 8; ++i) tail.push_back(static_cast<char>(bits >> (8 * i)));
  for (size_t at = 0; at < tail.size(); at += 64) AddBlock(tail.data() + at, state);
  std::string digest;
  for (const uint32_t word : state.word) {
    for (int i = 0; i < 4; ++i) digest.push_back(static_cast<char>(word >> (8 * i)));
  }
  return digest;
}

std::string NtHash(absl::string_view password) {
  if (std::optional<std::string> utf16 = ToUtf16(password)) return Md4(*utf16);
  std::string units;
  for (const char c : password) AppendUnit(static_cast<uint8_t>(c), units);
  return Md4(units);
}

}  // namespace sluice::auth
