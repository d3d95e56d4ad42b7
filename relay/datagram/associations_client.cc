// A client's datagrams: whose they are, where they lead, and what waits for a name.

#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "relay/datagram/associations.h"
#include "relay/datagram/udp_socket.h"
#include "sys/base/errno_or.h"

namespace sluice::relay {

bool Associations::IsTheClient(Association& association, const sys::SocketAddress& from) {
  sys::SocketAddress& client = association.handoff.client;
  if (association.locked) return from == client;
  if (client.family() != sys::AddressFamily::kNone) {
    client.set_port(from.port());
    if (!(from == client)) return false;
  }
  client = from;
  association.locked = true;
  sockaddr_storage storage;
  const socklen_t length = client.ToSockaddr(storage);
  // Others are refused by the kernel from now on; what they have sent before is not.
  connect(association.sockets[kClient].fd.get(), reinterpret_cast<const sockaddr*>(&storage), length);
  return true;
}

void Associations::FromClient(Association& association, absl::string_view datagram, const sys::SocketAddress& from) {
  stats_.received.Increment();
  if (!IsTheClient(association, from)) return stats_.dropped_foreign.Increment();
  Relay(association, datagram);
}

// Opens the envelope and sends on what is in it.
void Associations::Relay(Association& association, absl::string_view datagram) {
  const absl::string_view last = association.last_header;
  if (!last.empty() && datagram.substr(0, last.size()) == last && now_ - association.last_at < kSameNanos) {
    return SendTo(association, association.last_to, datagram.substr(last.size()));
  }
  const AssociationObserver::Opened opened = association.handoff.observer->Open(datagram);
  switch (opened.to) {
    case AssociationObserver::Opened::To::kNowhere:
      return stats_.dropped_malformed.Increment();
    case AssociationObserver::Opened::To::kName:
      return Ask(association, opened, datagram);
    case AssociationObserver::Opened::To::kAddress:
      break;
  }
  if (!Met(association, opened.address, "")) return stats_.dropped_denied.Increment();
  association.last_header.assign(datagram.data(), opened.header_bytes);
  association.last_to = opened.address;
  association.last_at = now_;
  SendTo(association, opened.address, datagram.substr(opened.header_bytes));
}

void Associations::Ask(Association& association, const AssociationObserver::Opened& opened,
                       absl::string_view datagram) {
  const absl::string_view payload = datagram.substr(opened.header_bytes);
  for (Question& question : association.questions) {
    if (question.name == opened.name && question.port == opened.port) return Park(question, payload);
  }
  if (association.questions.size() >= kMostQuestions) return stats_.dropped_parked.Increment();
  const DatagramTicket ticket{association.slot, association.generation, association.next_question};
  const std::optional<sys::SocketAddress> address =
      association.handoff.observer->Resolve(opened.name, opened.port, ticket);
  if (!address.has_value()) {
    Question question;
    question.id = association.next_question++;
    question.name = std::string(opened.name);
    question.port = opened.port;
    Park(question, payload);
    association.questions.push_back(std::move(question));
    return;
  }
  if (!address->is_ip() || !Met(association, *address, opened.name)) return stats_.dropped_denied.Increment();
  association.last_header.assign(datagram.data(), opened.header_bytes);
  association.last_to = *address;
  association.last_at = now_;
  SendTo(association, *address, payload);
}

void Associations::Park(Question& question, absl::string_view payload) {
  if (question.parked.size() >= kMostParked || question.parked_bytes + payload.size() > kMostParkedBytes) {
    return stats_.dropped_parked.Increment();
  }
  question.parked.emplace_back(payload);
  question.parked_bytes += payload.size();
}

void Associations::Resolved(const DatagramTicket& ticket, const sys::SocketAddress& address) {
  Association* found = Find(ticket.slot, ticket.generation);
  if (found == nullptr || found->ending) return;
  Association& association = *found;
  const auto asked = std::find_if(association.questions.begin(), association.questions.end(),
                                  [&](const Question& question) { return question.id == ticket.question; });
  if (asked == association.questions.end()) return;
  const Question question = std::move(*asked);
  association.questions.erase(asked);
  if (!address.is_ip() || !Met(association, address, question.name)) {
    return stats_.dropped_denied.Add(static_cast<int64_t>(question.parked.size()));
  }
  for (const std::string& payload : question.parked) SendTo(association, address, payload);
  send_->Flush();
}

// Whether the destination may be sent to; the layer above is asked once for each.
bool Associations::Met(Association& association, const sys::SocketAddress& to, absl::string_view name) {
  if (!association.handoff.admit_each) {
    association.first_met = association.first_met || association.handoff.observer->Admit(to, name);
    return association.first_met;
  }
  if (association.met == nullptr) association.met = std::make_unique<absl::flat_hash_set<sys::SocketAddress>>();
  if (association.met->contains(to)) return true;
  if (!association.handoff.observer->Admit(to, name)) return false;
  if (association.met->size() >= kMostMet) association.met->clear();
  association.met->insert(to);
  return true;
}

// The payload must stay where it is until the batch is flushed.
void Associations::SendTo(Association& association, const sys::SocketAddress& to, absl::string_view payload) {
  const int fd = UpstreamSocket(association, to.family());
  if (fd < 0) return stats_.dropped_no_resource.Increment();
  association.active_tick = TickOf(now_);
  association.report.bytes_from_client += static_cast<int64_t>(payload.size());
  send_->Add(fd, to, "", payload);
}

// The socket towards this family, opened now if need be; -1 when it cannot be had.
int Associations::UpstreamSocket(Association& association, sys::AddressFamily family) {
  if (association.ending) return -1;
  const int which = family == sys::AddressFamily::kIpv6 ? kUpstream6 : kUpstream4;
  if (association.sockets[which].fd.valid()) return association.sockets[which].fd.get();
  sys::ErrnoOr<sys::UniqueFd> fd = OpenOutgoingUdpSocket(family, association.handoff.outgoing);
  if (!fd.ok()) return -1;
  if (!Watch(association, which, *std::move(fd))) return -1;
  return association.sockets[which].fd.get();
}

}  // namespace sluice::relay
