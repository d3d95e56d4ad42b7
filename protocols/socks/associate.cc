#include "protocols/socks/associate.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "protocols/access/operation.h"
#include "protocols/access/request_facts.h"
#include "protocols/accounting/result_code.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/identity.h"
#include "protocols/auth/judgement.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/service_context.h"
#include "protocols/service/snapshot.h"
#include "protocols/socks/udp_exchange.h"
#include "relay/datagram/association.h"
#include "relay/datagram/udp_socket.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::socks {
namespace {

// bind() takes some microseconds: what a worker may spend on looking for a free port.
constexpr int kMostPortsTried = 256;

// Where the client can send to: the address it has connected to. A client on a unix socket is on this machine.
sys::SocketAddress AddressFor(int client) {
  sys::SocketAddress address = sys::SocketAddress::OfSocket(client);
  if (!address.is_ip()) address = sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0);
  address.set_port(0);
  return address;
}

sys::ErrnoOr<sys::UniqueFd> OpenInRange(sys::SocketAddress address, const service::PortRange& range) {
  if (range.first == 0) return relay::OpenUdpSocket(address);
  // Which port comes next is a hint and no more: workers may meet at one and go on.
  static thread_local uint32_t next = 0;
  const uint32_t count = uint32_t{range.last} - range.first + 1;
  for (uint32_t tried = 0; tried < std::min<uint32_t>(count, kMostPortsTried); ++tried) {
    address.set_port(static_cast<uint16_t>(range.first + next++ % count));
    sys::ErrnoOr<sys::UniqueFd> fd = relay::OpenUdpSocket(address);
    if (fd.ok() || fd.error().code != EADDRINUSE) return fd;
  }
  return sys::Errno{EADDRINUSE};
}

void Refuse(relay::Worker& worker, Arrival arrival, int error) {
  worker.role().AssertHeld();
  worker.Adopt(Refusal(std::move(arrival), ReplyForErrno(error), accounting::result::kBindFailed,
                       accounting::Phase::kConnect, error));
}

// Tells the client where; false when it does not take it.
bool Reply(const Arrival& arrival, sys::SocketAddress told) {
  const service::ServiceOptions& options = *arrival.exchange->context().options;
  if (options.socks.told_internal.has_value()) {
    const uint16_t port = told.port();
    told = *options.socks.told_internal;
    told.set_port(port);
  }
  const std::string reply = EncodeReply(arrival.request.version, ReplyCode::kSucceeded, told);
  return send(arrival.client.get(), reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(reply.size());
}

relay::AssociationHandoff HandoffTo(relay::Worker& worker, Arrival arrival) {
  const service::ServiceContext& context = arrival.exchange->context();
  arrival.exchange->StopHandshakeClock();
  relay::AssociationHandoff handoff;
  handoff.control = std::move(arrival.client);
  const sys::SocketAddress& client = arrival.exchange->record().client;
  if (client.is_ip()) handoff.client = client;
  handoff.outgoing = &context.outgoing;
  handoff.idle_nanos = context.options->timeouts.connection_long;
  const service::SocksOptions& socks = context.options->socks;
  handoff.admit_each = socks.judge_each_destination || (socks.log_each_destination && context.log != nullptr);
  handoff.admission = std::move(arrival.admission);
  handoff.observer = std::make_unique<UdpExchange>(std::move(arrival.exchange), &worker);
  return handoff;
}

// `udp_ports N`, on the worker that has the port.
void AssociateShared(relay::Worker& worker, Arrival arrival) {
  const sys::SocketAddress address = service::SharedAssociationPort(*arrival.exchange->context().options);
  // A reload may have given it up while this client was on its way.
  if (!worker.associations().Shares(address)) return Refuse(worker, std::move(arrival), EADDRNOTAVAIL);
  sys::SocketAddress told = AddressFor(arrival.client.get());
  told.set_port(address.port());
  // A client that does not take it is gone, which its association will see, and leave the port.
  Reply(arrival, told);
  relay::AssociationHandoff handoff = HandoffTo(worker, std::move(arrival));
  handoff.shared_port = address;
  worker.associations().Adopt(std::move(handoff));
}

void Open(relay::Worker& worker, Arrival arrival) {
  const service::PortRange& range = arrival.exchange->context().options->socks.udp_ports;
  if (range.shared) {
    relay::Worker& owner = worker.first();
    if (&owner == &worker) return AssociateShared(worker, std::move(arrival));
    auto moved = std::make_shared<Arrival>(std::move(arrival));
    return owner.Run([moved](relay::Worker& here) { AssociateShared(here, std::move(*moved)); });
  }
  sys::ErrnoOr<sys::UniqueFd> socket = OpenInRange(AddressFor(arrival.client.get()), range);
  if (!socket.ok()) return Refuse(worker, std::move(arrival), socket.error().code);
  if (!Reply(arrival, sys::SocketAddress::OfSocket(socket->get()))) {
    return arrival.exchange->Refuse(accounting::result::kClientWriteFailed, accounting::Phase::kHandshake, EAGAIN);
  }
  relay::AssociationHandoff handoff = HandoffTo(worker, std::move(arrival));
  handoff.client_socket = *std::move(socket);
  worker.associations().Adopt(std::move(handoff));
}

// Who the client is and whether it may send anywhere; nothing where a thread is needed (`blocking`: never).
std::optional<auth::Judgement> Judge(auth::Hearing& hearing, const Arrival& arrival, bool blocking) {
  access::RequestFacts facts;
  facts.client = arrival.exchange->record().client;
  facts.operation = access::Operation::kUdpAssociate;
  std::optional<auth::Judgement> judgement;
  std::optional<auth::Identity> identity;
  if (blocking) {
    judgement = hearing.JudgeBlocking(facts, auth::Stage::kBeforeResolution);
    identity = hearing.EstablishBlocking(facts);
  } else {
    judgement = hearing.TryJudge(facts, auth::Stage::kBeforeResolution);
    if (judgement.has_value()) identity = hearing.TryEstablish(facts);
  }
  if (!identity.has_value()) return std::nullopt;
  // Datagrams are judged by the best that is known of the client, whichever link it is that lets it in now.
  judgement->identity = *std::move(identity);
  return judgement;
}

void GoOn(relay::Worker& worker, Arrival arrival, const auth::Judgement& judgement) {
  arrival.exchange->NoteJudgement(judgement, arrival.hearing.get(), access::Operation::kUdpAssociate, 0);
  if (judgement.outcome != auth::Judgement::Outcome::kDenied) return Open(worker, std::move(arrival));
  worker.role().AssertHeld();
  worker.Adopt(Refusal(std::move(arrival), ReplyCode::kNotAllowed, judgement.result, accounting::Phase::kHandshake));
}

void JudgeOnThread(relay::Worker& worker, Arrival arrival) {
  const service::ServiceContext& context = arrival.exchange->context();
  // Shared by the two ends that the task can have. It keeps the context alive.
  auto shared = std::make_shared<Arrival>(std::move(arrival));
  service::HandshakePool::Task task;
  task.client_address = shared->exchange->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + context.options->timeouts.connect;
  task.run = [shared, &worker] {
    auth::Judgement judgement = *Judge(*shared->hearing, *shared, /*blocking=*/true);
    worker.Run(
        [shared, judgement = std::move(judgement)](relay::Worker& here) { GoOn(here, std::move(*shared), judgement); });
  };
  task.shed = [shared, &worker] {
    worker.Post(Refusal(std::move(*shared), ReplyCode::kGeneralFailure, accounting::result::kOverloaded,
                        accounting::Phase::kHandshake));
  };
  context.handshakes->Submit(std::move(task));
}

}  // namespace

void Associate(relay::Worker& worker, Arrival arrival) {
  if (arrival.hearing == nullptr) return Open(worker, std::move(arrival));
  const std::optional<auth::Judgement> judgement = Judge(*arrival.hearing, arrival, /*blocking=*/false);
  if (!judgement.has_value()) return JudgeOnThread(worker, std::move(arrival));
  GoOn(worker, std::move(arrival), *judgement);
}

}  // namespace sluice::socks
