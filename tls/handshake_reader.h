#ifndef SLUICE_TLS_HANDSHAKE_READER_H_
#define SLUICE_TLS_HANDSHAKE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::tls {

// The record types that a handshake has (RFC 8446 section 5.1).
inline constexpr uint8_t kChangeCipherSpec = 20;
inline constexpr uint8_t kAlert = 21;
inline constexpr uint8_t kHandshake = 22;

// Puts the messages of one side's unencrypted handshake together out of its records, for somebody who looks on: a
// message may lie in many records and a record may hold several messages. Fed whatever has come, one byte or all at
// once.
//
//   HandshakeReader reader(most_kept_bytes);
//   for (;;) {
//     bytes.remove_prefix(reader.Feed(bytes));      // all of them, while kReading
//     if (reader.state() != kMessage) break;        // kReading: more is needed
//     ... reader.type(), reader.body() ...
//     reader.Next();
//   }
//
// Of a long message only the beginning is kept. What comes after a record of another type is not looked at: it is
// encrypted, or no handshake.
//
// Source: RFC 8446 sections 5.1 and 4, RFC 5246 sections 6.2.1 and 7.4. Empty handshake records are refused, as they
// must not be sent; so are records of more than 2^14 bytes and of another major version than 3.
//
// Pure: no system call, no clock. Holds at most `most_kept_bytes`. Thread-compatible.
class HandshakeReader {
 public:
  static constexpr size_t kMostRecordBytes = 16384;

  enum class State : uint8_t {
    kReading,
    kMessage,      // one is whole
    kOtherRecord,  // one of another type follows: record_type()
    kFailed,       // not TLS
  };

  explicit HandshakeReader(size_t most_kept_bytes) : most_kept_bytes_(most_kept_bytes) {}

  // Takes bytes from the front, up to the end of a message, and returns how many that were.
  size_t Feed(absl::string_view bytes);
  // Goes on behind a message. REQUIRES: kMessage.
  void Next();

  State state() const { return state_; }
  // Of the last record that has begun; 0 before that.
  uint8_t record_type() const { return record_type_; }
  // REQUIRES: kMessage; or has_message_head() while it is being read.
  uint8_t type() const { return static_cast<uint8_t>(head_[0]); }
  size_t body_bytes() const { return body_bytes_; }  // as the message says
  bool has_message_head() const { return head_.size() == kMessageHeadBytes; }
  // What was kept of it.
  absl::string_view body() const { return body_; }

 private:
  static constexpr size_t kRecordHeadBytes = 5;
  static constexpr size_t kMessageHeadBytes = 4;

  size_t TakeRecordHead(absl::string_view bytes);
  size_t TakeMessage(absl::string_view bytes);

  const size_t most_kept_bytes_;
  State state_ = State::kReading;
  uint8_t record_type_ = 0;
  std::string record_head_;
  size_t record_left_ = 0;  // of the record, behind its head
  std::string head_;        // of the message
  size_t body_bytes_ = 0;
  size_t body_taken_ = 0;
  std::string body_;
};

}  // namespace sluice::tls

#endif  // SLUICE_TLS_HANDSHAKE_READER_H_
