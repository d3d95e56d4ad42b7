#include "protocols/service/listeners.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::service {
namespace {

// Nobody asked for less, and a client that finds a queue full tries again a whole second later. Clients are spread over
// the sockets by a hash, not in turn: a share of one or two would be exceeded by a handful of them.
constexpr int kLeastBacklog = 32;

sys::ListenOptions ListenOptionsOf(const ServiceOptions& options, int workers, const sys::SocketAddress& address) {
  sys::ListenOptions listen;
  listen.address = address;
  listen.kind = IsDatagram(options.type) ? sys::SocketKind::kDatagram : sys::SocketKind::kStream;
  const int backlog = options.backlog > 0 ? options.backlog : 1 + options.maxconn / 8;
  const int sockets = address.is_unix() ? 1 : workers;
  listen.backlog = std::max(options.backlog > 0 ? 1 : kLeastBacklog, (backlog + sockets - 1) / sockets);
  listen.reuse_port = true;
  listen.options = options.listen_socket_options;
  listen.device = options.listen_device;
  return listen;
}

bool SharesWithOthers(const ServiceOptions& options) {
  return std::any_of(options.listen_socket_options.begin(), options.listen_socket_options.end(),
                     [](const sys::SocketOptionValue& option) {
                       return option.option == sys::SocketOption::kSoReuseport && option.value.value_or(1) != 0;
                     });
}

// Two addresses on which the kernel lets sockets listen side by side only if all have SO_REUSEPORT.
bool Overlap(const sys::SocketAddress& a, const sys::SocketAddress& b) {
  if (a.is_unix()) return a == b;
  if (!b.is_ip() || a.family() != b.family() || a.port() != b.port() || a.port() == 0) return false;
  return a == b || a.is_any() || b.is_any();
}

// For TPROXY. Connections that are redirected (REDIRECT, DNAT) come to any socket, and need no right.
void MakeTransparent(const ServiceOptions& options, bool say, int socket, ListenerPlan& plan) {
  const absl::Status status = sys::ApplySocketOptions(socket, {{sys::SocketOption::kIpTransparent, 1}});
  if (status.ok() || !say) return;
  plan.notes.push_back(absl::StrCat(DescribeService(options, options.listen), ": warning: ", status.message(),
                                    "; -T works for REDIRECT and not for TPROXY, which needs CAP_NET_ADMIN"));
}

}  // namespace

std::string DescribeService(const ServiceOptions& options, const sys::SocketAddress& address) {
  return absl::StrCat(options.log_name, " ", address.ToString(), " (", options.location.file, ":",
                      options.location.line, ")");
}

Listener::~Listener() {
  if (!sockets.empty()) sys::RemoveUnixSocket(bound);
}

ListenerSet::~ListenerSet() {
  for (const auto& listener : running_) sys::RemoveUnixSocket(listener->bound);
}

bool ListenerSet::IsListening(const sys::SocketAddress& address, bool datagram) const {
  return std::any_of(running_.begin(), running_.end(), [&](const auto& listener) {
    return IsDatagram(listener->type) == datagram && Overlap(listener->bound, address);
  });
}

absl::StatusOr<ListenerPlan> ListenerSet::Plan(const Snapshot& snapshot) {
  ListenerPlan plan;
  for (const auto& service : snapshot.services) {
    auto same = [&](const std::shared_ptr<Listener>& l) {
      return l->type == service->type && l->configured == service->listen;
    };
    int ordinal = 0;
    for (const ListenerPlan::Entry& entry : plan.entries) ordinal += same(entry.listener) ? 1 : 0;
    const auto kept = std::find_if(running_.begin(), running_.end(), [&](const std::shared_ptr<Listener>& l) {
      return same(l) && l->ordinal == ordinal;
    });
    if (kept != running_.end()) {
      const sys::ListenOptions now = ListenOptionsOf(*service, workers_->size(), service->listen);
      const sys::ListenOptions& then = (*kept)->options;
      if (now.backlog != then.backlog || now.options != then.options || now.device != then.device ||
          service->transparent != (*kept)->transparent) {
        plan.notes.push_back(absl::StrCat(DescribeService(*service, (*kept)->bound),
                                          ": warning: its backlog, -ol, -Di or -T has changed, but a reload keeps its "
                                          "socket as it was opened; restart sluice, or take another port"));
      }
      plan.entries.push_back({*kept, false});
      continue;
    }
    auto listener = std::make_shared<Listener>();
    listener->type = service->type;
    listener->configured = service->listen;
    listener->ordinal = ordinal;
    listener->id = next_id_++;
    const absl::Status opened = Open(*service, plan, *listener);
    if (!opened.ok()) {
      return absl::Status(opened.code(), absl::StrCat(service->location.file, ":", service->location.line,
                                                      ": error: ", service->log_name, " ", service->listen.ToString(),
                                                      ": ", opened.message()));
    }
    plan.entries.push_back({std::move(listener), true});
  }
  for (const auto& service : snapshot.services) {
    const absl::Status opened = PlanAssociationPort(*service, plan);
    if (opened.ok()) continue;
    return absl::Status(
        opened.code(), absl::StrCat(service->location.file, ":", service->location.line, ": error: ", service->log_name,
                                    ": udp_ports ", service->socks.udp_ports.first, ": ", opened.message()));
  }
  for (const auto& listener : running_) {
    const bool wanted = std::any_of(plan.entries.begin(), plan.entries.end(),
                                    [&](const ListenerPlan::Entry& entry) { return entry.listener == listener; });
    if (!wanted) plan.dropped.push_back(listener);
  }
  return plan;
}

absl::Status ListenerSet::Open(const ServiceOptions& options, ListenerPlan& plan, Listener& listener) {
  sys::ListenOptions listen = ListenOptionsOf(options, workers_->size(), options.listen);
  const bool unix_socket = options.listen.is_unix();
  // Ours may overlap (the more specific address wins): a reload can move a service from one address to all of them. The
  // probe would find our own sockets; it looked for those of others when these were opened.
  const bool datagram = IsDatagram(options.type);  // TCP and UDP ports are different ports
  const bool shared_with_us =
      IsListening(options.listen, datagram) ||
      std::any_of(plan.entries.begin(), plan.entries.end(), [&](const auto& e) {
        return IsDatagram(e.listener->type) == datagram && Overlap(e.listener->bound, options.listen);
      });
  if (unix_socket && shared_with_us)
    return absl::AlreadyExistsError("another service listens there: give it a path of its own");
  sys::UniqueFd holder;
  if (!unix_socket && !shared_with_us && !(SharesWithOthers(options) && options.listen.port() != 0)) {
    absl::StatusOr<sys::ListenProbe> probe = sys::ProbeListenAddress(listen);
    if (!probe.ok()) return probe.status();
    listen.address = probe->address;
    holder = std::move(probe->holder);
  }
  listener.bound = listen.address;
  listener.options = listen;
  listener.transparent = options.transparent;
  const int sockets = unix_socket ? 1 : workers_->size();
  for (int i = 0; i < sockets; ++i) {
    absl::StatusOr<sys::UniqueFd> socket = sys::OpenListener(listen);
    if (!socket.ok()) return socket.status();
    // What every accepted socket inherits, so that it need not be set on each: nothing is held back for Nagle, and
    // urgent bytes stay in the stream.
    if (!datagram) {
      sys::SetNoDelay(socket->get(), true);
      sys::SetOobInline(socket->get());
    }
    if (options.transparent) MakeTransparent(options, i == 0, socket->get(), plan);
    listener.sockets.push_back(*std::move(socket));
  }
  return absl::OkStatus();
}

// Opened now, so that a port that somebody else has is an error of the start and not of each client.
absl::Status ListenerSet::PlanAssociationPort(const ServiceOptions& options, ListenerPlan& plan) const {
  ListenerPlan::AssociationPort port;
  port.address = SharedAssociationPort(options);
  if (!port.address.is_ip()) return absl::OkStatus();
  const bool planned =
      std::any_of(plan.association_ports.begin(), plan.association_ports.end(),
                  [&](const ListenerPlan::AssociationPort& other) { return other.address == port.address; });
  if (planned) return absl::OkStatus();
  if (std::find(association_ports_.begin(), association_ports_.end(), port.address) == association_ports_.end()) {
    sys::ListenOptions listen;
    listen.address = port.address;
    listen.kind = sys::SocketKind::kDatagram;
    listen.reuse_port = false;
    listen.device = options.listen_device;
    absl::StatusOr<sys::UniqueFd> socket = sys::OpenListener(listen);
    if (!socket.ok()) return socket.status();
    port.socket = *std::move(socket);
  }
  plan.association_ports.push_back(std::move(port));
  return absl::OkStatus();
}

// One worker has them all.
void ListenerSet::CommitAssociationPorts(ListenerPlan& plan) {
  relay::Worker& worker = workers_->at(0);
  for (const sys::SocketAddress& address : std::exchange(association_ports_, {})) {
    const bool wanted = std::any_of(plan.association_ports.begin(), plan.association_ports.end(),
                                    [&](const ListenerPlan::AssociationPort& port) { return port.address == address; });
    if (!wanted) worker.Run([address](relay::Worker& here) { here.associations().Unshare(address); });
  }
  for (ListenerPlan::AssociationPort& port : plan.association_ports) {
    association_ports_.push_back(port.address);
    if (!port.socket.valid()) continue;
    auto socket = std::make_shared<sys::UniqueFd>(std::move(port.socket));
    // Refused only without memory, when clients are told that there is no such port.
    worker.Run([address = port.address, socket](relay::Worker& here) {
      (void)here.associations().Share(address, std::move(*socket));
    });
  }
}

void ListenerSet::Commit(ListenerPlan plan, const std::vector<ServiceHandler>& handlers) {
  CommitAssociationPorts(plan);
  running_.clear();
  for (size_t i = 0; i < plan.entries.size(); ++i) {
    const std::shared_ptr<Listener>& listener = plan.entries[i].listener;
    running_.push_back(listener);
    const relay::AcceptorSet::Id id = listener->id;
    const bool deal = listener->configured.is_unix();
    // Which worker accepts for a unix socket is a matter of spreading them.
    const int first = deal ? static_cast<int>(id % workers_->size()) : 0;
    const int count = deal ? 1 : workers_->size();
    for (int w = 0; w < count; ++w) {
      relay::Worker& worker = workers_->at(first + w);
      if (!plan.entries[i].is_new) {
        worker.Run([id, handler = handlers[i]](relay::Worker& here) {
          if (handler.streams != nullptr) here.acceptors().SetHandler(id, handler.streams);
          if (handler.datagrams != nullptr) here.mapped_ports().SetHandler(id, handler.datagrams);
        });
        continue;
      }
      auto socket = std::make_shared<sys::UniqueFd>(std::move(listener->sockets[w]));
      worker.Run([id, socket, handler = handlers[i], deal](relay::Worker& here) {
        // Refused only without memory, when the other workers' sockets must do.
        if (handler.streams != nullptr) (void)here.acceptors().Add(id, std::move(*socket), handler.streams, deal);
        if (handler.datagrams != nullptr) (void)here.mapped_ports().Add(id, std::move(*socket), handler.datagrams);
      });
    }
    listener->sockets.clear();
  }
  for (const auto& listener : plan.dropped) Close(listener);
}

void ListenerSet::Close(const std::shared_ptr<Listener>& listener) {
  const bool unix_socket = listener->configured.is_unix();
  // No new client can come by the path any more; those in the queue are served.
  if (unix_socket) sys::RemoveUnixSocket(listener->bound);
  const int first = unix_socket ? static_cast<int>(listener->id % workers_->size()) : 0;
  const int count = unix_socket ? 1 : workers_->size();
  for (int w = 0; w < count; ++w) {
    closing_->fetch_add(1);
    workers_->at(first + w).Run([id = listener->id, closing = closing_, type = listener->type](relay::Worker& here) {
      auto closed = [closing] { closing->fetch_sub(1); };
      if (IsDatagram(type)) return here.mapped_ports().Close(id, closed);
      here.acceptors().Close(id, closed);
    });
  }
}

void ListenerSet::CloseAll() {
  for (const auto& listener : running_) Close(listener);
  running_.clear();
}

}  // namespace sluice::service
