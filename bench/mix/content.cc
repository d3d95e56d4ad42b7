#include "bench/mix/content.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::bench::mix {
namespace {

constexpr size_t kStep = 256;
constexpr size_t kLook = 8;

const char* ContentAt(uint64_t position) {
  static const auto* const bytes = [] {
    auto* all = new std::array<char, kPieceBytes + kContentPeriod>;
    for (size_t i = 0; i < all->size(); ++i) (*all)[i] = static_cast<char>(i % kContentPeriod);
    return all;
  }();
  return bytes->data() + position % kContentPeriod;
}

}  // namespace

int ContentPieces(uint64_t id, int64_t offset, int64_t bytes, iovec* pieces) {
  // A piece is a multiple of the period, so all begin alike.
  char* const start = const_cast<char*>(ContentAt(id % kContentPeriod + static_cast<uint64_t>(offset)));
  int count = 0;
  for (; bytes > 0 && count < kMostPieces; ++count) {
    const int64_t size = std::min(bytes, kPieceBytes);
    pieces[count] = {start, static_cast<size_t>(size)};
    bytes -= size;
  }
  return count;
}

bool ContentFits(uint64_t id, int64_t offset, absl::string_view bytes) {
  const uint64_t first = id % kContentPeriod + static_cast<uint64_t>(offset);
  const auto fits = [&](size_t at, size_t size) {
    return std::memcmp(bytes.data() + at, ContentAt(first + at), size) == 0;
  };
  if (bytes.size() <= 2 * kLook) return fits(0, bytes.size());
  for (size_t at = 0; at + kLook <= bytes.size(); at += kStep) {
    if (!fits(at, kLook)) return false;
  }
  return fits(bytes.size() - kLook, kLook);
}

}  // namespace sluice::bench::mix
