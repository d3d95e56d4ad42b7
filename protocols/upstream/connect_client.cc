#include "protocols/upstream/connect_client.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice::upstream {
namespace {

// "HTTP/1.1 200".
constexpr size_t kStatusBytes = 12;

bool IsHost(absl::string_view host) {
  return !host.empty() && host.size() <= 255 && std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return c > 0x20 && c != 0x7f && c != '/' && c != '@' && c != '?' && c != '#';
  });
}

// The status of "HTTP/1.x NNN", 0 for anything else.
int StatusOf(absl::string_view line) {
  if (line.size() < kStatusBytes || !absl::StartsWith(line, "HTTP/1.") || !absl::ascii_isdigit(line[7]) ||
      line[8] != ' ') {
    return 0;
  }
  int status = 0;
  for (const char c : line.substr(9, 3)) {
    if (!absl::ascii_isdigit(c)) return 0;
    status = status * 10 + (c - '0');
  }
  return status >= 100 && status < 600 ? status : 0;
}

}  // namespace

std::string BasicCredentials(absl::string_view user, absl::string_view password) {
  return absl::StrCat("Basic ", absl::Base64Escape(absl::StrCat(user, ":", password)));
}

ConnectClient::ConnectClient(const ConnectAsk& ask) {
  const Endpoint& to = ask.destination;
  const bool by_name = (ask.by_name && !to.host.empty()) || !to.has_address();
  // A name of a user with a colon cannot be told from its password.
  if ((by_name ? !IsHost(to.host) : !to.address.is_ip()) || absl::StrContains(ask.user, ':')) {
    Fail(HopFault::kCannotAsk);
    return;
  }
  const std::string authority = by_name ? to.ToString() : to.AddressText();
  absl::StrAppend(&output_, "CONNECT ", authority, " HTTP/1.1\r\nHost: ", authority, "\r\n");
  if (!ask.via.empty()) absl::StrAppend(&output_, "Via: ", ask.via, "\r\n");
  if (!ask.user.empty()) {
    absl::StrAppend(&output_, "Proxy-Authorization: ", BasicCredentials(ask.user, ask.password), "\r\n");
  }
  output_ += "\r\n";
  asked_ = true;
}

size_t ConnectClient::Feed(absl::string_view bytes) {
  size_t taken = 0;
  while (state() == State::kReading && taken < bytes.size()) {
    const char c = bytes[taken++];
    if (++taken_ > kMostAnswerBytes || c == '\0') {
      Fail(HopFault::kBadReply);
      break;
    }
    if (c == '\n') {
      OnLine();
      line_size_ = 0;
      line_is_empty_ = true;
    } else {
      if (last_ == '\r' && line_size_ > 0) line_is_empty_ = false;  // a CR within the line
      if (c != '\r') line_is_empty_ = false;
      ++line_size_;
      if (line_ == Line::kStatus && start_.size() < kStatusBytes) {
        start_ += c;
        // Told early: what is no HTTP may never send a line's end.
        if (start_.size() == kStatusBytes && StatusOf(start_) == 0) Fail(HopFault::kBadReply);
      }
    }
    last_ = c;
  }
  return taken;
}

// The end of a line has come.
void ConnectClient::OnLine() {
  if (line_ == Line::kStatus) {
    status_ = StatusOf(start_);
    start_.clear();
    if (status_ == 0 || status_ == 101) return Fail(HopFault::kBadReply);
    line_ = Line::kField;
    return;
  }
  if (!line_is_empty_) return;
  if (status_ < 200) {
    line_ = Line::kStatus;
  } else if (status_ < 300) {
    Finish();
  } else {
    Fail(status_ == 407 ? HopFault::kAuthFailed : HopFault::kRefused, status_);
  }
}

}  // namespace sluice::upstream
