#ifndef SLUICE_PROTOCOLS_UPSTREAM_CONNECT_CLIENT_H_
#define SLUICE_PROTOCOLS_UPSTREAM_CONNECT_CLIENT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/upstream/endpoint.h"
#include "protocols/upstream/hop_handshake.h"

namespace sluice::upstream {

struct ConnectAsk {
  Endpoint destination;
  bool by_name = false;  // the name goes to the parent where there is one (connect+), else the address
  std::string user;      // empty: none is given
  std::string password;
  std::string via;  // the value of Via: who has passed this on, us included. Empty: the field is left out
};

// HTTP CONNECT (RFC 9110 section 9.3.6). Any 2xx opens the tunnel, which begins right behind its head whatever length
// that claims; 1xx before it are passed over; any other status is a refusal, whose body is not read.
//
// Pure. Thread-compatible.
class ConnectClient final : public HopHandshake {
 public:
  // Of the whole answer, 1xx included: what a cookie-setting, policy-quoting parent sends fits many times.
  static constexpr size_t kMostAnswerBytes = 64 * 1024;

  explicit ConnectClient(const ConnectAsk& ask);
  size_t Feed(absl::string_view bytes) override;

 private:
  enum class Line : uint8_t { kStatus, kField };

  void OnLine();

  Line line_ = Line::kStatus;
  int status_ = 0;
  size_t taken_ = 0;      // of all answers
  size_t line_size_ = 0;  // of the line that comes in
  bool line_is_empty_ = true;
  char last_ = 0;
  std::string start_;  // of the status line, as much as is looked at
};

// "Basic BASE64(user:password)", of Authorization and Proxy-Authorization (RFC 7617).
std::string BasicCredentials(absl::string_view user, absl::string_view password);

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_CONNECT_CLIENT_H_
