#include "protocols/socks/conversation.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/string_view.h"
#include "protocols/accounting/result_code.h"
#include "protocols/service/snapshot.h"
#include "protocols/socks/arrival.h"
#include "protocols/socks/associate.h"
#include "protocols/socks/bind.h"
#include "protocols/socks/connect.h"
#include "protocols/socks/result.h"

namespace sluice::socks {
namespace {

CredentialPolicy PolicyOf(service::ClientCredentials credentials) {
  switch (credentials) {
    case service::ClientCredentials::kNever:
      return CredentialPolicy::kNever;
    case service::ClientCredentials::kOffered:
      return CredentialPolicy::kOffer;
    case service::ClientCredentials::kRequired:
      return CredentialPolicy::kRequire;
  }
  return CredentialPolicy::kOffer;
}

void Dispatch(relay::Worker& worker, Arrival arrival) {
  switch (arrival.request.command) {
    case Command::kConnect:
      return Connect(worker, std::move(arrival));
    case Command::kBind:
      return Bind(worker, std::move(arrival));
    case Command::kUdpAssociate:
      // Its datagrams would go in the clear beside a connection that does not.
      if (arrival.transform != nullptr) break;
      return Associate(worker, std::move(arrival));
    case Command::kNone:
      break;
  }
  worker.role().AssertHeld();
  worker.Adopt(Refusal(std::move(arrival), ReplyCode::kCommandNotSupported, result::kUnknownCommand,
                       accounting::Phase::kHandshake));
}

}  // namespace

Conversation::Conversation(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client,
                           sys::MonotonicNanos now, std::unique_ptr<relay::Transform> transform)
    : context_(std::move(context)),
      deadline_(now + context_->options->timeouts.string_short),
      transform_(std::move(transform)),
      handshake_(PolicyOf(context_->options->credentials), context_->options->transparent),
      exchange_(std::make_unique<Exchange>(context_, client)) {}

// Never 0, which would mean not to wait.
int64_t Conversation::first_byte_nanos() const { return std::max<int64_t>(1, deadline_ - sys::Clock::System().Now()); }

void Conversation::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                              relay::Admission admission) {
  switch (Listen(client.get())) {
    case Heard::kNothing:
      // A client that never pauses is not waited for, but it has no more time than others.
      if (sys::Clock::System().Now() < deadline_) {
        return worker.Admit(shared_from_this(), std::move(client), std::move(client_address), std::move(admission));
      }
      return Lost(accounting::result::kTimeout, ETIMEDOUT);
    case Heard::kLost:
      return;
    case Heard::kAll:
      break;
  }
  Arrival arrival{std::move(client),    std::move(admission), std::move(exchange_),
                  handshake_.request(), std::move(payload_),  std::move(transform_)};
  arrival.exchange->Note(arrival.request);
  if (handshake_.state() == Handshake::State::kComplete) return Dispatch(worker, std::move(arrival));
  const bool required = context_->options->credentials == service::ClientCredentials::kRequired;
  worker.role().AssertHeld();
  worker.Adopt(RefusalWith(handshake_.TakeAnswer(), std::move(arrival), ResultOfFault(handshake_.fault(), required),
                           accounting::Phase::kHandshake));
}

void Conversation::OnSilent(sys::UniqueFd, sys::SocketAddress, relay::Admission) {
  Lost(accounting::result::kTimeout, ETIMEDOUT);
}

// Takes what the client has sent, and answers, until the handshake is over or nothing more is there. The last answer of
// a handshake that failed is left to the session that ends it.
Conversation::Heard Conversation::Listen(int client) {
  char buffer[2048];
  for (;;) {
    const int64_t count = relay::ReceiveSome(client, transform_.get(), buffer, sizeof buffer);
    if (count == -EAGAIN) return Heard::kNothing;
    if (count <= 0) {
      Lost(count == 0 ? result::kHandshakeCut : accounting::result::kClientReadFailed, static_cast<int>(-count));
      return Heard::kLost;
    }
    const absl::string_view bytes(buffer, static_cast<size_t>(count));
    const size_t taken = handshake_.Feed(bytes);
    if (handshake_.state() == Handshake::State::kFailed) return Heard::kAll;
    if (!Say(client, handshake_.TakeAnswer())) return Heard::kLost;
    if (handshake_.state() == Handshake::State::kReading) continue;
    payload_ = std::string(bytes.substr(taken));
    return Heard::kAll;
  }
}

// Four bytes into a connection that has sent hardly more: where that does not fit, the client takes nothing at all.
bool Conversation::Say(int client, const std::string& answer) {
  if (answer.empty()) return true;
  const int64_t count = relay::SendSome(client, transform_.get(), answer.data(), answer.size());
  if (count == static_cast<int64_t>(answer.size())) return true;
  Lost(accounting::result::kClientWriteFailed, count < 0 ? static_cast<int>(-count) : 0);
  return false;
}

void Conversation::Lost(accounting::ResultCode result, int error) {
  exchange_->Note(handshake_.request());
  exchange_->Refuse(result, accounting::Phase::kHandshake, error);
}

}  // namespace sluice::socks
