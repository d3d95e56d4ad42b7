#ifndef SLUICE_PROTOCOLS_UPSTREAM_SOCKS_CLIENT_H_
#define SLUICE_PROTOCOLS_UPSTREAM_SOCKS_CLIENT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/upstream/endpoint.h"
#include "protocols/upstream/hop_handshake.h"

namespace sluice::upstream {

enum class SocksCommand : uint8_t { kConnect = 1, kUdpAssociate = 3 };

// What a parent is asked for.
struct SocksAsk {
  SocksCommand command = SocksCommand::kConnect;
  Endpoint destination;
  bool by_name = false;  // the name goes to the parent where there is one (socks5+, socks4+), else the address
  std::string user;      // empty: none is given
  std::string password;
  // How many proxies of this kind the request has passed, this one included (depth.h). 0: not said.
  int depth = 0;
};

// All of this is pure and thread-compatible.

// SOCKS 5 (RFC 1928), with a user name and a password (RFC 1929) where there are some: then both methods are offered,
// and the parent's choice is taken. Its reply is read by its address type, so that a name in it is no surprise.
class Socks5Client final : public HopHandshake {
 public:
  explicit Socks5Client(const SocksAsk& ask);
  size_t Feed(absl::string_view bytes) override;

 private:
  enum class Step : uint8_t { kMethod, kCredentials, kReplyHead, kReplyName, kReplyRest };

  bool Encode(const SocksAsk& ask);
  void Expect(Step step, size_t bytes);
  void OnField();
  void OnMethod(uint8_t method);
  void OnReplyHead();
  void OnReplyRest();
  void Ask();

  Step step_ = Step::kMethod;
  size_t need_ = 2;
  std::string field_;  // of what is awaited
  std::string credentials_;
  std::string request_;
  uint8_t address_type_ = 0;
  bool offers_credentials_ = false;
};

// SOCKS 4, and 4a where the name is passed: the user goes as the user id, there are no passwords.
class Socks4Client final : public HopHandshake {
 public:
  explicit Socks4Client(const SocksAsk& ask);
  size_t Feed(absl::string_view bytes) override;

 private:
  std::string reply_;
};

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_SOCKS_CLIENT_H_
