#ifndef SLUICE_PROTOCOLS_AUTH_RADIUS_RADIUS_CLIENT_H_
#define SLUICE_PROTOCOLS_AUTH_RADIUS_RADIUS_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/access/operation.h"
#include "protocols/auth/radius/packet.h"
#include "sys/blocking/wait.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::auth::radius {

// `radius SECRET SERVER[:PORT][/LOCAL]...`. Plain data.
struct Options {
  static constexpr size_t kMostServers = 5;
  static constexpr uint16_t kPort = 1812;

  struct Server {
    sys::SocketAddress address;               // accounting goes to the next port
    std::optional<sys::SocketAddress> local;  // the address to send from; port 0
    friend bool operator==(const Server&, const Server&) = default;
  };
  std::string secret;
  std::vector<Server> servers;  // in the order in which they are asked

  bool enabled() const { return !servers.empty(); }
  friend bool operator==(const Options&, const Options&) = default;
};

// Whom a server is asked about, and what for.
struct Question {
  std::string user;
  std::string password;
  sys::SocketAddress client;
  std::string host;           // of the destination, as the client named it; may be empty
  sys::SocketAddress target;  // kNone: not known
  uint16_t port = 0;
  access::Operation operation = access::Operation::kConnect;
  std::string service;          // "SOCKS": NAS-Identifier
  sys::SocketAddress listener;  // at which the client came in: NAS-Port, NAS-IP-Address
};

struct Answer {
  enum class Kind : uint8_t {
    kAccepted,
    kRejected,
    kUnreachable,  // no server has answered in time, or none could be asked
    kUnaskable,    // the name or the password is longer than RADIUS has room for
  };
  Kind kind = Kind::kUnreachable;
  int code = 0;  // kRejected: the number that Reply-Message begins with, 1 to 999; 0: none
  // From where this user's connections go out.
  std::optional<sys::SocketAddress> outgoing_ipv4;
  std::optional<sys::SocketAddress> outgoing_ipv6;
  uint32_t interim_seconds = 0;  // Acct-Interim-Interval
};

// Asks RADIUS servers, one after the other. Each gets the request up to kTries times with the same identifier, one more
// second to answer each time; one that was silent is asked last for kPauseNanos. An answer that fails its checks is no
// answer (packet.h); it is said once a minute why, since a wrong secret looks like silence otherwise.
//
// Each request has a socket of its own, whose port (chosen by the kernel) tells requests apart beside the identifier.
//
// Thread-safe; handshake thread only (may block).
class Client {
 public:
  static constexpr int kTries = 3;
  static constexpr int64_t kTryNanos = sys::kNanosPerSecond;
  static constexpr int64_t kPauseNanos = 30 * sys::kNanosPerSecond;

  // `say`: one line for the operator; may be empty. `try_nanos`: for tests.
  Client(Options options, std::function<void(const std::string&)> say, int64_t try_nanos = kTryNanos);

  Answer Ask(const Question& question, sys::MonotonicNanos deadline, const sys::Cancellation* cancellation);

  // Sends a request that the caller has filled in, to the accounting ports; true once a server has confirmed it. The
  // identifier is the client's to choose: `fill` adds the attributes.
  bool Account(const std::function<void(Request&)>& fill, sys::MonotonicNanos deadline,
               const sys::Cancellation* cancellation);

  const Options& options() const { return options_; }

 private:
  struct State {
    std::atomic<sys::MonotonicNanos> silent_since{0};
  };

  // The servers in the order in which they are to be asked now.
  std::vector<size_t> Order(sys::MonotonicNanos now) const;
  std::optional<Response> AskServer(size_t index, bool accounting, const std::function<bool(Request&)>& fill,
                                    sys::MonotonicNanos deadline, const sys::Cancellation* cancellation);
  void Complain(const std::string& line);

  const Options options_;
  const std::function<void(const std::string&)> say_;
  const int64_t try_nanos_;
  std::vector<std::unique_ptr<State>> states_;
  std::atomic<sys::MonotonicNanos> complained_at_{0};
};

// "010" -> 10; 0 where the text does not begin with digits, or they say no result code. Pure.
int CodeOfReplyMessage(absl::string_view text);

}  // namespace sluice::auth::radius

#endif  // SLUICE_PROTOCOLS_AUTH_RADIUS_RADIUS_CLIENT_H_
