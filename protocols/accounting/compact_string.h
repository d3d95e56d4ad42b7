#ifndef SLUICE_PROTOCOLS_ACCOUNTING_COMPACT_STRING_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_COMPACT_STRING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/string_view.h"

namespace sluice::accounting {

// A string that is mostly empty and never edited: 8 bytes, and nothing on the heap while empty (std::string is 32).
// Text over kMaxBytes is cut: a log record has no more room.
//
// Thread-compatible.
class CompactString {
 public:
  static constexpr size_t kMaxBytes = 4096;

  CompactString() = default;
  explicit CompactString(absl::string_view text) { Assign(text); }
  CompactString(const CompactString& other) { Assign(other.view()); }
  CompactString& operator=(const CompactString& other) {
    if (this != &other) Assign(other.view());
    return *this;
  }
  CompactString(CompactString&&) noexcept = default;
  CompactString& operator=(CompactString&&) noexcept = default;
  CompactString& operator=(absl::string_view text) {
    Assign(text);
    return *this;
  }

  absl::string_view view() const {
    return block_ == nullptr ? absl::string_view() : absl::string_view(block_.get() + sizeof(Length), length());
  }
  bool empty() const { return block_ == nullptr; }
  size_t HeapBytes() const { return block_ == nullptr ? 0 : sizeof(Length) + length(); }

 private:
  using Length = uint16_t;

  Length length() const {
    Length length;
    std::memcpy(&length, block_.get(), sizeof(length));
    return length;
  }

  void Assign(absl::string_view text) {
    const Length length = static_cast<Length>(text.size() < kMaxBytes ? text.size() : kMaxBytes);
    std::unique_ptr<char[]> block;
    if (length > 0) {
      block.reset(new char[sizeof(length) + length]);
      std::memcpy(block.get(), &length, sizeof(length));
      std::memcpy(block.get() + sizeof(length), text.data(), length);
    }
    block_ = std::move(block);
  }

  std::unique_ptr<char[]> block_;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_COMPACT_STRING_H_
