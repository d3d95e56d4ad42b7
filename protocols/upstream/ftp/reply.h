#ifndef SLUICE_PROTOCOLS_UPSTREAM_FTP_REPLY_H_
#define SLUICE_PROTOCOLS_UPSTREAM_FTP_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::upstream {

// What an FTP server says on its control connection (RFC 959 section 4.2): a code of three digits, and text for people.
struct FtpReply {
  int code = 0;      // 100 to 599
  std::string text;  // its lines without their codes, joined by '\n'; control bytes are blanks

  bool preliminary() const { return code < 200; }  // another one follows
  bool completed() const { return code >= 200 && code < 300; }
  bool wants_more() const { return code >= 300 && code < 400; }
};

// Reads one reply that comes in pieces. A line is one with its own end, whatever reads the pieces are: a banner of many
// lines ("220-" up to a line that begins with "220 ") is one reply, and what follows it is left for the next one.
//
//   FtpReplyReader reader;
//   bytes.remove_prefix(reader.Feed(bytes));
//   if (reader.state() == kWhole) ... reader.reply()
//
// Lines end with LF; a CR before it belongs to the end. Anything that does not begin with a code, and anything longer
// than the limits, is kBad, for good.
//
// Pure, bounded. Thread-compatible.
class FtpReplyReader {
 public:
  static constexpr size_t kMostLineBytes = 4096;
  static constexpr size_t kMostReplyBytes = 64 * 1024;  // long banners have a few KB
  static constexpr size_t kMostTextBytes = 1024;        // kept; it is for messages

  enum class State : uint8_t { kMore, kWhole, kBad };

  // How many of `bytes` it took: all of them, unless the state is kWhole or kBad now.
  size_t Feed(absl::string_view bytes);
  State state() const { return state_; }
  // REQUIRES: kWhole.
  const FtpReply& reply() const { return reply_; }

 private:
  void OnLine();

  State state_ = State::kMore;
  bool multi_line_ = false;
  size_t taken_ = 0;
  std::string line_;
  FtpReply reply_;
};

// Where the server waits for the data connection, of a reply to EPSV (229, RFC 2428: "(|||PORT|)" with any delimiter)
// and to PASV (227: six numbers). Nothing for a text that is none, and for port 0.
//
// The address in a 227 is what the server thinks that it has, or wants us to connect to: it is not to be used, the
// address of the control connection is.
//
// Pure. Thread-safe.
std::optional<uint16_t> ParseExtendedPassive(absl::string_view text);
struct FtpPassive {
  uint32_t address = 0;  // IPv4, in host order
  uint16_t port = 0;
};
std::optional<FtpPassive> ParsePassive(absl::string_view text);

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_FTP_REPLY_H_
