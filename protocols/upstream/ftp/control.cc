#include "protocols/upstream/ftp/control.h"

#include <sys/socket.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::upstream {
namespace {

constexpr size_t kMostAheadBytes = 8 * 1024;

// A byte 255 would begin a command of Telnet, on which FTP is built (RFC 959 section 3.1.1.5.2).
void AppendArgument(absl::string_view argument, std::string& out) {
  for (const char c : argument) {
    if (c == '\xff') out.push_back(c);
    out.push_back(c);
  }
}

}  // namespace

bool FtpControl::IsArgument(absl::string_view text) {
  return text.find_first_of(absl::string_view("\r\n\0", 3)) == absl::string_view::npos;
}

FtpAnswer FtpControl::Failure(const absl::Status& status) const {
  FtpAnswer answer;
  answer.error = stream_.last_errno();
  if (absl::IsDeadlineExceeded(status)) {
    answer.fault = FtpAnswer::Fault::kTimeout;
  } else if (absl::IsOutOfRange(status)) {
    answer.fault = FtpAnswer::Fault::kClosed;
  } else {
    answer.fault = FtpAnswer::Fault::kFailed;
  }
  return answer;
}

FtpAnswer FtpControl::Read(sys::MonotonicNanos deadline) {
  stream_.set_deadline(deadline);
  FtpReplyReader reader;
  for (;;) {
    if (stream_.buffered().empty()) {
      if (const absl::Status status = stream_.FillMore(kMostAheadBytes); !status.ok()) return Failure(status);
    }
    stream_.Consume(reader.Feed(stream_.buffered()));
    switch (reader.state()) {
      case FtpReplyReader::State::kMore:
        break;
      case FtpReplyReader::State::kWhole:
        return {FtpAnswer::Fault::kNone, 0, reader.reply()};
      case FtpReplyReader::State::kBad:
        return {FtpAnswer::Fault::kBadReply, 0, {}};
    }
  }
}

FtpAnswer FtpControl::Ask(absl::string_view verb, absl::string_view argument, sys::MonotonicNanos deadline) {
  std::string command(verb);
  if (!argument.empty()) command.push_back(' ');
  AppendArgument(argument, command);
  command.append("\r\n");
  stream_.set_deadline(deadline);
  if (const absl::Status status = stream_.WriteAll(command); !status.ok()) {
    // It may have said why before it left.
    const FtpAnswer failure = Failure(status);
    const FtpAnswer last = Read(deadline);
    return last.ok() ? last : failure;
  }
  return Read(deadline);
}

FtpAnswer FtpControl::Login(absl::string_view user, absl::string_view password, sys::MonotonicNanos deadline) {
  FtpAnswer answer = Ask("USER", user, deadline);
  if (answer.ok() && answer.reply.code == 331) answer = Ask("PASS", password, deadline);
  return answer;
}

FtpControl::Passive FtpControl::EnterPassive(sys::MonotonicNanos deadline) {
  Passive passive{Ask("EPSV", "", deadline), {}};
  std::optional<uint16_t> port;
  if (passive.answer.ok() && passive.answer.reply.code == 229) {
    port = ParseExtendedPassive(passive.answer.reply.text);
  } else if (passive.answer.ok() && passive.answer.reply.code >= 500 && server_.family() == sys::AddressFamily::kIpv4) {
    passive.answer = Ask("PASV", "", deadline);
    if (!passive.answer.ok() || passive.answer.reply.code != 227) return passive;
    const std::optional<FtpPassive> six = ParsePassive(passive.answer.reply.text);
    if (six.has_value()) port = six->port;
  } else {
    return passive;
  }
  if (!port.has_value()) {
    passive.answer.fault = FtpAnswer::Fault::kBadReply;
    return passive;
  }
  passive.address = server_;
  passive.address.set_port(*port);
  return passive;
}

void FtpControl::Quit() {
  [[maybe_unused]] const ssize_t sent = send(fd_.get(), "QUIT\r\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace sluice::upstream
