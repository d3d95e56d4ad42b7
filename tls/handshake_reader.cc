#include "tls/handshake_reader.h"

#include <algorithm>

namespace sluice::tls {
namespace {

constexpr uint8_t kMajorVersion = 3;

uint8_t ByteAt(absl::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

}  // namespace

size_t HandshakeReader::Feed(absl::string_view bytes) {
  size_t taken = 0;
  while (state_ == State::kReading && taken < bytes.size()) {
    taken += record_left_ == 0 ? TakeRecordHead(bytes.substr(taken)) : TakeMessage(bytes.substr(taken));
  }
  return taken;
}

void HandshakeReader::Next() {
  state_ = State::kReading;
  head_.clear();
  body_.clear();
  body_bytes_ = body_taken_ = 0;
}

size_t HandshakeReader::TakeRecordHead(absl::string_view bytes) {
  const size_t count = std::min(kRecordHeadBytes - record_head_.size(), bytes.size());
  record_head_.append(bytes.data(), count);
  record_type_ = ByteAt(record_head_, 0);
  // Told by its first byte, and by its second: what is no TLS need not have five.
  if (record_type_ != kHandshake) {
    const bool between_messages = head_.empty();
    const bool known = record_type_ == kAlert || record_type_ == kChangeCipherSpec || record_type_ == 23;
    state_ = between_messages && known ? State::kOtherRecord : State::kFailed;
    return count;
  }
  if (record_head_.size() >= 2 && ByteAt(record_head_, 1) != kMajorVersion) {
    state_ = State::kFailed;
    return count;
  }
  if (record_head_.size() < kRecordHeadBytes) return count;
  record_left_ = static_cast<size_t>(ByteAt(record_head_, 3)) << 8 | ByteAt(record_head_, 4);
  if (record_left_ == 0 || record_left_ > kMostRecordBytes) state_ = State::kFailed;
  record_head_.clear();
  return count;
}

size_t HandshakeReader::TakeMessage(absl::string_view bytes) {
  const absl::string_view window = bytes.substr(0, record_left_);
  size_t taken = 0;
  if (head_.size() < kMessageHeadBytes) {
    taken = std::min(kMessageHeadBytes - head_.size(), window.size());
    head_.append(window.data(), taken);
    record_left_ -= taken;
    if (head_.size() < kMessageHeadBytes) return taken;
    body_bytes_ = static_cast<size_t>(ByteAt(head_, 1)) << 16 | static_cast<size_t>(ByteAt(head_, 2)) << 8 |
                  static_cast<size_t>(ByteAt(head_, 3));
  }
  const absl::string_view body = window.substr(taken, body_bytes_ - body_taken_);
  body_.append(body.data(), std::min(body.size(), most_kept_bytes_ - body_.size()));
  body_taken_ += body.size();
  record_left_ -= body.size();
  if (body_taken_ == body_bytes_) state_ = State::kMessage;
  return taken + body.size();
}

}  // namespace sluice::tls
