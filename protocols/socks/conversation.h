#ifndef SLUICE_PROTOCOLS_SOCKS_CONVERSATION_H_
#define SLUICE_PROTOCOLS_SOCKS_CONVERSATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/identity.h"
#include "protocols/service/service_context.h"
#include "protocols/socks/exchange.h"
#include "protocols/socks/wire.h"
#include "relay/acceptor.h"
#include "relay/transform.h"
#include "relay/worker.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::socks {

// One client in its handshake, from its first byte to its request.
//
// The codec needs no particular pieces, and nothing in the handshake blocks but the wait for the client: so the worker
// feeds it with what there is, and waits for more as it waits for first bytes. A client that drips its bytes costs a
// watch and a timer, not a thread. The whole handshake has one deadline (STRING_SHORT after the first byte).
//
// Ownership: by whoever waits for the client's next bytes. Worker only.
class Conversation final : public relay::AdmissionHandler, public std::enable_shared_from_this<Conversation> {
 public:
  Conversation(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client,
               sys::MonotonicNanos now, std::unique_ptr<relay::Transform> transform);

  // For the record: where the client came in.
  void NoteInternal(sys::SocketAddress address) { exchange_->record().Addresses().internal = std::move(address); }

  // There are bytes to read.
  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override;
  // The deadline has passed.
  void OnSilent(sys::UniqueFd client, sys::SocketAddress client_address, relay::Admission admission) override;
  int64_t first_byte_nanos() const override;
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  enum class Heard : uint8_t { kNothing, kAsking, kAll, kLost };

  Heard Listen(int client);
  Heard Take(absl::string_view bytes, int client);
  // Whether the credentials are right, here or on a thread.
  void Verify(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
              relay::Admission admission);
  void Confirmed(relay::Worker& worker, const auth::Identity& identity, sys::UniqueFd client,
                 sys::SocketAddress client_address, relay::Admission admission);
  void GoOn(relay::Worker& worker, Heard heard, sys::UniqueFd client, sys::SocketAddress client_address,
            relay::Admission admission);
  bool Say(int client, const std::string& answer);
  void Lost(accounting::ResultCode result, int error);

  const std::shared_ptr<const service::ServiceContext> context_;
  const sys::MonotonicNanos deadline_;
  std::unique_ptr<relay::Transform> transform_;  // of a client that speaks TLS to us
  Handshake handshake_;
  std::unique_ptr<Exchange> exchange_;
  std::string payload_;
  std::string unread_;  // came behind credentials that are being verified
  std::unique_ptr<auth::Hearing> hearing_;
};

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_CONVERSATION_H_
