#include "protocols/socks/conversation.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "protocols/access/request_facts.h"
#include "protocols/accounting/result_code.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/judged_lookup.h"
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
    case service::ClientCredentials::kVerified:
      return CredentialPolicy::kVerify;
  }
  return CredentialPolicy::kOffer;
}

auth::Claim ClaimOf(const Request& request) { return {request.user, request.password}; }

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
  const Heard heard = Listen(client.get());
  GoOn(worker, heard, std::move(client), std::move(client_address), std::move(admission));
}

void Conversation::GoOn(relay::Worker& worker, Heard heard, sys::UniqueFd client, sys::SocketAddress client_address,
                        relay::Admission admission) {
  switch (heard) {
    case Heard::kNothing:
      // A client that never pauses is not waited for, but it has no more time than others.
      if (sys::Clock::System().Now() < deadline_) {
        return worker.Admit(shared_from_this(), std::move(client), std::move(client_address), std::move(admission));
      }
      return Lost(accounting::result::kTimeout, ETIMEDOUT);
    case Heard::kAsking:
      return Verify(worker, std::move(client), std::move(client_address), std::move(admission));
    case Heard::kLost:
      return;
    case Heard::kAll:
      break;
  }
  Arrival arrival{std::move(client),    std::move(admission), std::move(exchange_),
                  handshake_.request(), std::move(payload_),  std::move(transform_)};
  arrival.exchange->Note(arrival.request);
  if (handshake_.state() == Handshake::State::kComplete) {
    arrival.hearing = hearing_ != nullptr ? std::move(hearing_)
                                          : service::HearingFor(*context_, ClaimOf(arrival.request),
                                                                arrival.exchange->record().started_wall_nanos);
    return Dispatch(worker, std::move(arrival));
  }
  const bool required = context_->options->credentials == service::ClientCredentials::kRequired ||
                        context_->options->credentials == service::ClientCredentials::kVerified;
  accounting::ResultCode result = ResultOfFault(handshake_.fault(), required);
  if (handshake_.fault() == Fault::kCredentials && !hearing_->failure().ok()) result = hearing_->failure();
  worker.role().AssertHeld();
  worker.Adopt(RefusalWith(handshake_.TakeAnswer(), std::move(arrival), result, accounting::Phase::kHandshake));
}

// -u3.
void Conversation::Verify(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                          relay::Admission admission) {
  hearing_ = service::HearingFor(*context_, ClaimOf(handshake_.request()), exchange_->record().started_wall_nanos);
  std::optional<auth::Identity> identity = auth::Identity();
  access::RequestFacts facts;
  facts.client = exchange_->record().client;
  if (hearing_ != nullptr) identity = hearing_->TryEstablish(facts);
  if (identity.has_value()) {
    return Confirmed(worker, *identity, std::move(client), std::move(client_address), std::move(admission));
  }
  struct Waiting {
    sys::UniqueFd client;
    sys::SocketAddress address;
    relay::Admission admission;
  };
  auto waiting = std::make_shared<Waiting>(Waiting{std::move(client), std::move(client_address), std::move(admission)});
  auto self = shared_from_this();
  service::HandshakePool::Task task;
  task.client_address = facts.client.IpText();
  task.deadline = sys::Clock::System().Now() + context_->options->timeouts.connect;
  task.run = [self, waiting, facts, &worker] {
    auth::Identity identity = self->hearing_->EstablishBlocking(facts);
    worker.Run([self, waiting, identity = std::move(identity)](relay::Worker& here) {
      self->Confirmed(here, identity, std::move(waiting->client), std::move(waiting->address),
                      std::move(waiting->admission));
    });
  };
  // The client is closed with what holds it.
  task.shed = [self, waiting] { self->Lost(accounting::result::kOverloaded, 0); };
  context_->handshakes->Submit(std::move(task));
}

void Conversation::Confirmed(relay::Worker& worker, const auth::Identity& identity, sys::UniqueFd client,
                             sys::SocketAddress client_address, relay::Admission admission) {
  // Where nobody checks anything, anything is right.
  const bool right =
      hearing_ == nullptr || identity.proof != auth::Proof::kNone || !hearing_->gate().options().auth.verifies();
  handshake_.Confirm(right);
  Heard heard = Heard::kAll;
  if (right) {
    const std::string unread = std::move(unread_);
    unread_.clear();
    heard = Say(client.get(), handshake_.TakeAnswer()) ? Take(unread, client.get()) : Heard::kLost;
    if (heard == Heard::kNothing) heard = Listen(client.get());
  }
  GoOn(worker, heard, std::move(client), std::move(client_address), std::move(admission));
}

void Conversation::OnSilent(sys::UniqueFd, sys::SocketAddress, relay::Admission) {
  Lost(accounting::result::kTimeout, ETIMEDOUT);
}

// Takes what the client has sent, and answers, until the handshake is over or nothing more is there.
Conversation::Heard Conversation::Listen(int client) {
  char buffer[2048];
  for (;;) {
    const int64_t count = relay::ReceiveSome(client, transform_.get(), buffer, sizeof buffer);
    if (count == -EAGAIN) return Heard::kNothing;
    if (count <= 0) {
      Lost(count == 0 ? result::kHandshakeCut : accounting::result::kClientReadFailed, static_cast<int>(-count));
      return Heard::kLost;
    }
    const Heard heard = Take(absl::string_view(buffer, static_cast<size_t>(count)), client);
    if (heard != Heard::kNothing) return heard;
  }
}

// The last answer of a handshake that failed is left to the session that ends it.
Conversation::Heard Conversation::Take(absl::string_view bytes, int client) {
  const size_t taken = handshake_.Feed(bytes);
  if (handshake_.state() == Handshake::State::kFailed) return Heard::kAll;
  if (!Say(client, handshake_.TakeAnswer())) return Heard::kLost;
  switch (handshake_.state()) {
    case Handshake::State::kReading:
      return Heard::kNothing;
    case Handshake::State::kAsking:
      unread_ = std::string(bytes.substr(taken));
      return Heard::kAsking;
    case Handshake::State::kComplete:
    case Handshake::State::kFailed:
      break;
  }
  payload_ = std::string(bytes.substr(taken));
  return Heard::kAll;
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
