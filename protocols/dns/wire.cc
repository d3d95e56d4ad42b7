#include "protocols/dns/wire.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "protocols/dns/host_name.h"

namespace sluice::dns {
namespace {

constexpr size_t kMaxWireNameBytes = 254;  // 255 with the root
constexpr uint8_t kPointer = 0xc0;

}  // namespace

WireName ToWireName(absl::string_view name) {
  WireName wire;
  for (const absl::string_view label : absl::StrSplit(name, '.', absl::SkipEmpty())) {
    wire.push_back(static_cast<char>(label.size()));
    for (const char c : label) wire.push_back(absl::ascii_tolower(c));
  }
  return wire;
}

std::string ToHostName(const WireName& name) {
  std::string text;
  for (size_t i = 0; i < name.size();) {
    const size_t length = static_cast<uint8_t>(name[i]);
    const absl::string_view label = absl::string_view(name).substr(i + 1, length);
    if (label.find('.') != absl::string_view::npos) return "";
    if (!text.empty()) text.push_back('.');
    text.append(label.data(), label.size());
    i += 1 + length;
  }
  return text;
}

uint16_t WireReader::U16() {
  if (!Has(2)) return 0;
  const uint16_t value = static_cast<uint16_t>(message_[position_] << 8 | message_[position_ + 1]);
  position_ += 2;
  return value;
}

uint32_t WireReader::U32() {
  const uint32_t high = U16();
  const uint32_t low = U16();
  return ok_ ? high << 16 | low : 0;
}

absl::Span<const uint8_t> WireReader::Bytes(size_t count) {
  if (!Has(count)) return {};
  position_ += count;
  return message_.subspan(position_ - count, count);
}

WireName WireReader::Name() {
  WireName name;
  size_t cursor = position_;
  size_t lowest = position_;
  bool jumped = false;
  while (ok_ && cursor < message_.size()) {
    const uint8_t length = message_[cursor];
    if (length >= kPointer) {
      if (cursor + 1 >= message_.size()) break;
      if (!jumped) position_ = cursor + 2;
      jumped = true;
      cursor = static_cast<size_t>(length - kPointer) << 8 | message_[cursor + 1];
      if (cursor >= lowest) break;
      lowest = cursor;
      continue;
    }
    if (length == 0) {
      if (!jumped) position_ = cursor + 1;
      return name;
    }
    const size_t end = cursor + 1 + length;
    if (length > kMaxLabelBytes || end > message_.size() || name.size() + 1 + length > kMaxWireNameBytes) break;
    name.push_back(static_cast<char>(length));
    for (const uint8_t c : message_.subspan(cursor + 1, length)) name.push_back(absl::ascii_tolower(c));
    cursor = end;
  }
  ok_ = false;
  return {};
}

bool WireReader::Has(size_t count) {
  ok_ = ok_ && message_.size() - position_ >= count;
  return ok_;
}

}  // namespace sluice::dns
