#include "protocols/upstream/dialer.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/upstream/connect_client.h"
#include "protocols/upstream/depth.h"
#include "protocols/upstream/hop_handshake.h"
#include "protocols/upstream/hop_result.h"
#include "protocols/upstream/proxy_header.h"
#include "protocols/upstream/socks_client.h"
#include "relay/connecting.h"
#include "sys/base/errno_status.h"
#include "sys/blocking/connect.h"
#include "sys/blocking/deadline_stream.h"

namespace sluice::upstream {
namespace {

using accounting::ResultCode;
namespace result = accounting::result;

// Read ahead of a parent's answer: what a tunnel may say early stays in the kernel beyond that.
constexpr size_t kMostAheadBytes = 16 * 1024;

// What a parent has no part in: we ran out of something, or may not do what was asked of us.
bool IsOurFault(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case EACCES:
    case EPERM:
    case EADDRINUSE:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ECANCELED:
      return true;
    default:
      return false;
  }
}

// One try: a chain from its first connection to its end.
class Attempt {
 public:
  Attempt(const DialRequest& request, const DialOptions& options, Route route)
      : request_(request), options_(options), route_(std::move(route)) {}

  Dialed Run();
  // Whose fault a failure was: it is avoided from now on. Null: nobody's, another chain would end the same way.
  const Parent* culprit() const { return culprit_; }

 private:
  void Connect(const Endpoint& to, const Parent* parent);
  bool ConnectTo(const sys::SocketAddress& address, sys::MonotonicNanos deadline);
  void Pass(size_t index, sys::DeadlineStream& stream);
  bool SendHeader(uint8_t version, sys::DeadlineStream& stream);
  std::unique_ptr<HopHandshake> HandshakeWith(const Parent& parent, const Endpoint& next);
  bool Converse(HopHandshake& handshake, sys::DeadlineStream& stream);
  Endpoint PlaceBehind(size_t index) const;
  bool MakeAddress(Endpoint& endpoint);
  void Fail(ResultCode result, int error, std::string what, const Parent* culprit, bool parents_fault);
  sys::MonotonicNanos Now() const { return sys::Clock::System().Now(); }

  const DialRequest& request_;
  const DialOptions& options_;
  const Route route_;
  relay::OutgoingOptions outgoing_;
  Dialed dialed_;
  bool failed_ = false;
  const Parent* culprit_ = nullptr;
};

Dialed Attempt::Run() {
  outgoing_ = OutgoingFor(*options_.outgoing, route_.source, request_.client);
  const Parent* const first = route_.hops.empty() ? route_.end : route_.hops[0];
  Connect(first == nullptr ? request_.destination : PlaceOf(*first, request_.destination), first);
  if (failed_) return std::move(dialed_);
  sys::DeadlineStream stream(dialed_.fd.get(), Now() + options_.chain_nanos, options_.cancellation);
  for (size_t i = 0; i < route_.hops.size() && !failed_; ++i) Pass(i, stream);
  if (!failed_ && !SendHeader(route_.headers.back(), stream)) {
    Fail(result::kChainFailed, stream.last_errno(), "the end of the chain left", route_.end, false);
  }
  if (failed_) {
    dialed_.fd.reset();
    return std::move(dialed_);
  }
  dialed_.early = stream.TakeBuffered();
  dialed_.whole_requests = route_.whole_requests ? route_.end : nullptr;
  dialed_.hops = static_cast<int>(route_.hops.size()) + (route_.whole_requests ? 1 : 0);
  if (first != nullptr) options_.health->Worked(first->ToString());
  return std::move(dialed_);
}

void Attempt::Fail(ResultCode result, int error, std::string what, const Parent* culprit, bool parents_fault) {
  failed_ = true;
  dialed_.result = result;
  dialed_.error = error;
  dialed_.what = std::move(what);
  if (!parents_fault || culprit == nullptr) return;
  culprit_ = culprit;
  const std::string why =
      error == 0 ? std::string(result.name) : absl::StrCat(result.name, ", ", sys::ErrnoText(error));
  options_.health->Failed(culprit->ToString(), why, Now());
}

// The first connection. `parent`: who is there; null: the destination itself.
void Attempt::Connect(const Endpoint& to, const Parent* parent) {
  std::vector<sys::SocketAddress> addresses;
  if (to.has_address()) {
    addresses.push_back(to.address);
  } else {
    addresses = options_.resolve(to.host);
    for (sys::SocketAddress& address : addresses) address.set_port(to.port);
  }
  const std::string whom = parent == nullptr ? to.ToString() : absl::StrCat("the parent ", parent->ToString());
  if (addresses.empty()) {
    return Fail(result::kNameNotResolved, 0, absl::StrCat("The name of ", whom, " has no address."), parent, true);
  }
  const sys::MonotonicNanos end = Now() + options_.connect_nanos;
  for (size_t i = 0; i < addresses.size(); ++i) {
    // Those that are left share the time that is.
    const auto left = static_cast<int64_t>(addresses.size() - i);
    if (ConnectTo(addresses[i], Now() + std::max<int64_t>(0, end - Now()) / left)) return;
  }
  const int error = dialed_.error;
  std::string what = absl::StrCat("There is no connection to ", whom, ": ", sys::ErrnoText(error), ".");
  // An address that is not (or no more) ours: another one of its group may do.
  if (IsOurFault(error)) {
    return Fail(accounting::ConnectResult(error), error, std::move(what), route_.source, error == EADDRNOTAVAIL);
  }
  const ResultCode code = parent == nullptr    ? accounting::ConnectResult(error)
                          : error == ETIMEDOUT ? result::kChainTimeout
                                               : result::kChainFailed;
  Fail(code, error, std::move(what), parent, true);
}

bool Attempt::ConnectTo(const sys::SocketAddress& address, sys::MonotonicNanos deadline) {
  dialed_.upstream = address;
  dialed_.is_tcp = address.is_ip();
  for (;;) {
    sys::ErrnoOr<sys::UniqueFd> fd = relay::StartConnect(address, &outgoing_);
    if (fd.ok()) {
      dialed_.error = sys::AwaitConnected(fd->get(), deadline, options_.cancellation);
      if (dialed_.error == 0) dialed_.fd = *std::move(fd);
      return dialed_.error == 0;
    }
    dialed_.error = fd.error().code;
    // A unix listener whose backlog is full says so at once.
    if (dialed_.error != EAGAIN || !address.is_unix()) return false;
    const sys::MonotonicNanos again = Now() + relay::Connecting::kUnixRetryMillis * sys::kNanosPerMilli;
    if (again >= deadline) return dialed_.error = ETIMEDOUT, false;
    if (sys::WaitUntilReady(-1, sys::Direction::kRead, again, options_.cancellation) != ETIMEDOUT) return false;
  }
}

// Where hops[index] is to connect us to.
Endpoint Attempt::PlaceBehind(size_t index) const {
  if (index + 1 < route_.hops.size()) return PlaceOf(*route_.hops[index + 1], request_.destination);
  return route_.end == nullptr ? request_.destination : PlaceOf(*route_.end, request_.destination);
}

bool Attempt::MakeAddress(Endpoint& endpoint) {
  if (endpoint.has_address()) return true;
  std::vector<sys::SocketAddress> addresses = options_.resolve(endpoint.host);
  if (addresses.empty()) return false;
  endpoint.address = addresses.front();
  endpoint.address.set_port(endpoint.port);
  return true;
}

// Asks one parent for the next.
void Attempt::Pass(size_t index, sys::DeadlineStream& stream) {
  const Parent& parent = *route_.hops[index];
  Endpoint next = PlaceBehind(index);
  const bool is_last = index + 1 == route_.hops.size();
  const Parent* const behind = is_last ? route_.end : route_.hops[index + 1];
  // A number is no name, whatever it came as.
  if (next.has_address() && (next.host.empty() || next.address.IpText() == next.host)) next.host.clear();
  if (!PassesName(parent) && !MakeAddress(next)) {
    return Fail(result::kNameNotResolved, 0, absl::StrCat(next.host, " has no address."), behind, behind != nullptr);
  }
  stream.set_deadline(Now() + options_.chain_nanos);
  std::unique_ptr<HopHandshake> handshake = HandshakeWith(parent, next);
  const bool talked = SendHeader(route_.headers[index], stream) && Converse(*handshake, stream);
  if (talked && handshake->state() == HopHandshake::State::kDone) {
    if (is_last) dialed_.bound = handshake->bound();
    if (index > 0) options_.health->Worked(parent.ToString());
    return;
  }
  const HopVerdict verdict =
      talked ? JudgeFault(parent, *handshake) : JudgeSilence(parent, *handshake, stream.last_errno());
  // What this one says of the next parent is that one's fault.
  const Parent* const culprit = verdict.next_is_at_fault && !is_last ? behind : &parent;
  const bool parents_fault = verdict.parent_is_at_fault || (verdict.next_is_at_fault && !is_last);
  Fail(verdict.result, verdict.error, absl::StrCat("The parent ", parent.ToString(), " ", verdict.what, "."), culprit,
       parents_fault);
}

bool Attempt::SendHeader(uint8_t version, sys::DeadlineStream& stream) {
  if (version == 0) return true;
  return stream
      .WriteAll(version == 1 ? EncodeProxyHeaderV1(request_.client, request_.local)
                             : EncodeProxyHeaderV2(request_.client, request_.local))
      .ok();
}

std::unique_ptr<HopHandshake> Attempt::HandshakeWith(const Parent& parent, const Endpoint& next) {
  ParentCredentials credentials = CredentialsFor(parent, request_);
  if (parent.type == ParentType::kSocks4 || parent.type == ParentType::kSocks5) {
    SocksAsk ask;
    ask.destination = next;
    ask.by_name = PassesName(parent);
    ask.user = std::move(credentials.user);
    ask.password = std::move(credentials.password);
    ask.depth = request_.depth + 1;
    if (parent.type == ParentType::kSocks4) return std::make_unique<Socks4Client>(ask);
    return std::make_unique<Socks5Client>(ask);
  }
  ConnectAsk ask;
  ask.destination = next;
  ask.by_name = PassesName(parent);
  ask.user = std::move(credentials.user);
  ask.password = std::move(credentials.password);
  ask.via = absl::StrCat(request_.via, request_.via.empty() ? "" : ", ", "1.1 ", options_.own_name);
  return std::make_unique<ConnectClient>(ask);
}

// False: the connection ended, failed or was silent for too long.
bool Attempt::Converse(HopHandshake& handshake, sys::DeadlineStream& stream) {
  for (;;) {
    const std::string output = handshake.TakeOutput();
    if (!output.empty() && !stream.WriteAll(output).ok()) return false;
    if (handshake.state() != HopHandshake::State::kReading) return true;
    if (stream.buffered().empty() && !stream.FillMore(kMostAheadBytes).ok()) return false;
    stream.Consume(handshake.Feed(stream.buffered()));
  }
}

}  // namespace

Dialed Dial(const DialRequest& request, const DialOptions& options) {
  Dialed dialed;
  if (request.depth >= kMostDepth) {
    dialed.result = result::kLoop;
    dialed.error = ELOOP;
    dialed.what = "The request goes round between proxies.";
    return dialed;
  }
  std::vector<const Parent*> avoid;
  for (int tries = 0; tries <= options.retries; ++tries) {
    const sys::MonotonicNanos now = sys::Clock::System().Now();
    const auto paused_until = [&](const Parent& parent) { return options.health->PausedUntil(parent.ToString(), now); };
    const ChainFacts facts{paused_until, avoid, request.sticky};
    Attempt attempt(request, options, RouteOf(DrawChain(*request.parents, facts, RandomBelow), request.speaks));
    dialed = attempt.Run();
    if (dialed.ok() || attempt.culprit() == nullptr || dialed.error == ECANCELED) break;
    avoid.push_back(attempt.culprit());
  }
  return dialed;
}

ParentCredentials CredentialsFor(const Parent& parent, const DialRequest& request) {
  if (parent.clients_credentials) return {request.claimed_user, request.claimed_password};
  return {parent.user.Expand(request.user, request.client), parent.password.Expand(request.user, request.client)};
}

relay::OutgoingOptions OutgoingFor(const relay::OutgoingOptions& base, const Parent* source,
                                   const sys::SocketAddress& client) {
  relay::OutgoingOptions outgoing = base;
  if (source == nullptr) return outgoing;
  sys::SocketAddress address = source->address;
  if (address.is_any()) {
    if (!client.is_ip()) return outgoing;
    address = client;
  } else if (address.family() == sys::AddressFamily::kIpv6 && source->prefix_bits < 128) {
    std::array<uint8_t, 16> random{};
    // Without entropy the network's first address is as good as any.
    if (getrandom(random.data(), random.size(), GRND_NONBLOCK) != static_cast<ssize_t>(random.size())) random.fill(0);
    std::array<uint8_t, 16> bytes = address.ipv6();
    for (int bit = source->prefix_bits; bit < 128; ++bit) {
      const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
      const auto index = static_cast<size_t>(bit / 8);
      bytes[index] = static_cast<uint8_t>((bytes[index] & ~mask) | (random[index] & mask));
    }
    address = sys::SocketAddress::Ipv6(bytes, 0);
    outgoing.free_bind = true;
  }
  address.set_port(0);
  (address.family() == sys::AddressFamily::kIpv4 ? outgoing.source_ipv4 : outgoing.source_ipv6) = address;
  return outgoing;
}

}  // namespace sluice::upstream
