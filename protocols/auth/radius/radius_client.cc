#include "protocols/auth/radius/radius_client.h"

#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"
#include "sys/base/unique_fd.h"

namespace sluice::auth::radius {
namespace {

constexpr uint32_t kAuthenticateOnly = 8;      // Service-Type, RFC 2865 section 5.6
constexpr uint32_t kVirtualPort = 5;           // NAS-Port-Type, RFC 2865 section 5.41
constexpr uint32_t kFirstLoginService = 1001;  // of 3proxy: one for each operation

// A datagram socket towards the server, or an errno.
sys::UniqueFd Open(const Options::Server& server, uint16_t port, int& error) {
  sys::SocketAddress address = server.address;
  address.set_port(port);
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  sys::UniqueFd fd(socket(storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  error = fd.valid() ? 0 : errno;
  if (error == 0 && server.local.has_value()) {
    sockaddr_storage local;
    const socklen_t local_length = server.local->ToSockaddr(local);
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), local_length) != 0) error = errno;
  }
  // Connected: only the server's datagrams come in, and its ICMP messages do.
  if (error == 0 && connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) error = errno;
  return fd;
}

uint32_t LoginServiceOf(access::Operation operation) { return kFirstLoginService + static_cast<uint32_t>(operation); }

bool FillQuestion(const Question& question, absl::string_view secret, Request& request) {
  request.Add(Attribute::kUserName, question.user);
  if (!request.AddPassword(question.password, secret)) return false;
  request.AddNumber(Attribute::kServiceType, kAuthenticateOnly);
  request.AddNumber(Attribute::kNasPortType, kVirtualPort);
  request.AddNumber(Attribute::kNasPort, question.listener.port());
  request.AddAddress(Attribute::kNasIpAddress, Attribute::kNasIpv6Address, question.listener);
  request.Add(Attribute::kNasIdentifier, question.service);
  request.AddAddress(Attribute::kFramedIpAddress, Attribute::kFramedIpv6Address, question.client);
  request.Add(Attribute::kCallingStationId, question.client.IpText());
  if (!question.host.empty()) request.Add(Attribute::kCalledStationId, question.host);
  request.AddNumber(Attribute::kLoginService, LoginServiceOf(question.operation));
  request.AddNumber(Attribute::kLoginTcpPort, question.port);
  request.AddAddress(Attribute::kLoginIpHost, Attribute::kLoginIpv6Host, question.target);
  return true;
}

}  // namespace

int CodeOfReplyMessage(absl::string_view text) {
  int code = 0;
  size_t digits = 0;
  while (digits < text.size() && digits < 4 && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) {
    code = code * 10 + (text[digits++] - '0');
  }
  return digits > 0 && code < 1000 ? code : 0;
}

Client::Client(Options options, std::function<void(const std::string&)> say, int64_t try_nanos)
    : options_(std::move(options)), say_(std::move(say)), try_nanos_(try_nanos) {
  for (size_t i = 0; i < options_.servers.size(); ++i) states_.push_back(std::make_unique<State>());
}

std::vector<size_t> Client::Order(sys::MonotonicNanos now) const {
  std::vector<size_t> order;
  for (size_t i = 0; i < options_.servers.size(); ++i) order.push_back(i);
  const auto is_silent = [&](size_t i) {
    const sys::MonotonicNanos since = states_[i]->silent_since.load(std::memory_order_relaxed);
    return since != 0 && now - since < kPauseNanos;
  };
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return !is_silent(i); });
  return order;
}

Answer Client::Ask(const Question& question, sys::MonotonicNanos deadline, const sys::Cancellation* cancellation) {
  Answer answer;
  if (question.user.size() > kMostAttributeBytes || question.password.size() > kMostPasswordBytes) {
    answer.kind = Answer::Kind::kUnaskable;
    return answer;
  }
  const auto fill = [&](Request& request) { return FillQuestion(question, options_.secret, request); };
  for (const size_t index : Order(sys::Clock::System().Now())) {
    const std::optional<Response> response = AskServer(index, /*accounting=*/false, fill, deadline, cancellation);
    if (!response.has_value()) continue;
    answer.kind = response->code == Code::kAccessAccept ? Answer::Kind::kAccepted : Answer::Kind::kRejected;
    answer.code = CodeOfReplyMessage(response->reply_message);
    answer.outgoing_ipv4 = response->framed_ipv4;
    answer.outgoing_ipv6 = response->framed_ipv6;
    answer.interim_seconds = response->interim_seconds;
    // 255.255.255.254 and .255 mean that it is not the server's to say (RFC 2865 section 5.8).
    if (answer.outgoing_ipv4.has_value() && answer.outgoing_ipv4->ipv4() >= 0xfffffffe) answer.outgoing_ipv4.reset();
    return answer;
  }
  return answer;
}

bool Client::Account(const std::function<void(Request&)>& fill, sys::MonotonicNanos deadline,
                     const sys::Cancellation* cancellation) {
  const auto filled = [&](Request& request) {
    fill(request);
    return true;
  };
  for (const size_t index : Order(sys::Clock::System().Now())) {
    const std::optional<Response> response = AskServer(index, /*accounting=*/true, filled, deadline, cancellation);
    if (response.has_value() && response->code == Code::kAccountingResponse) return true;
  }
  return false;
}

std::optional<Response> Client::AskServer(size_t index, bool accounting, const std::function<bool(Request&)>& fill,
                                          sys::MonotonicNanos deadline, const sys::Cancellation* cancellation) {
  const Options::Server& server = options_.servers[index];
  const auto port = static_cast<uint16_t>(server.address.port() + (accounting ? 1 : 0));
  int error = 0;
  const sys::UniqueFd fd = Open(server, port, error);
  if (error != 0) {
    Complain(absl::StrCat("RADIUS server ", server.address.IpText(), " port ", port,
                          " cannot be asked: ", sys::ErrnoText(error)));
    return std::nullopt;
  }
  Authenticator random;
  uint8_t id;
  // A request that can be foreseen is one that can be answered by others: without entropy none is sent.
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()) || getrandom(&id, 1, 0) != 1) {
    return std::nullopt;
  }
  Request request(accounting ? Code::kAccountingRequest : Code::kAccessRequest, id, random);
  if (!fill(request)) return std::nullopt;
  const std::string bytes = request.Seal(options_.secret);
  const char* last_fault = nullptr;
  for (int tries = 1; tries <= kTries; ++tries) {
    (void)send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const sys::MonotonicNanos until = std::min(deadline, sys::Clock::System().Now() + tries * try_nanos_);
    for (;;) {
      const int waited = sys::WaitUntilReady(fd.get(), sys::Direction::kRead, until, cancellation);
      if (waited == ECANCELED || sys::Clock::System().Now() >= deadline) return std::nullopt;
      if (waited != 0) break;
      char buffer[kMostPacketBytes];
      const ssize_t got = recv(fd.get(), buffer, sizeof(buffer), 0);
      if (got < 0) {
        if (errno == ECONNREFUSED) break;  // nobody is there: no need to wait, but it may be restarting
        continue;
      }
      Response response;
      last_fault =
          ParseResponse(absl::string_view(buffer, static_cast<size_t>(got)), request, options_.secret, response);
      if (last_fault == nullptr) {
        states_[index]->silent_since.store(0, std::memory_order_relaxed);
        return response;
      }
    }
  }
  states_[index]->silent_since.store(sys::Clock::System().Now(), std::memory_order_relaxed);
  Complain(absl::StrCat(
      "RADIUS server ", server.address.IpText(), " port ", port, " ",
      last_fault == nullptr ? "does not answer" : absl::StrCat("sends what is not believed: ", last_fault)));
  return std::nullopt;
}

void Client::Complain(const std::string& line) {
  constexpr int64_t kOnceNanos = 60 * sys::kNanosPerSecond;
  const sys::MonotonicNanos now = sys::Clock::System().Now();
  sys::MonotonicNanos last = complained_at_.load(std::memory_order_relaxed);
  if (last != 0 && now - last < kOnceNanos) return;
  if (complained_at_.compare_exchange_strong(last, now, std::memory_order_relaxed) && say_) say_(line);
}

}  // namespace sluice::auth::radius
