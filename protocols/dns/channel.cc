#include "protocols/dns/channel.h"

#include <ares.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/dns/wire.h"
#include "sys/thread/clock.h"

namespace sluice::dns {
namespace {

bool IsAnswer(const uint8_t* message, ssize_t length) {
  return length >= static_cast<ssize_t>(kHeaderBytes) && ((message[2] << 8) & kResponseFlag) != 0;
}

Outcome OutcomeOfAres(int status) {
  switch (status) {
    case ARES_SUCCESS:
      return Outcome::kOk;
    case ARES_ETIMEOUT:
      return Outcome::kTimeout;
    case ARES_ENOTFOUND:
      return Outcome::kNotFound;
    case ARES_EBADRESP:
      return Outcome::kMalformed;
    case ARES_EDESTRUCTION:
    case ARES_ECANCELLED:
      return Outcome::kCancelled;
    default:
      return Outcome::kServerFailure;
  }
}

int InitialiseLibrary() {
  static const int status = ares_library_init(ARES_LIB_INIT_ALL);
  return status;
}

int SetServer(ares_channel channel, const NameServer& server) {
  ares_addr_port_node node{};
  node.udp_port = node.tcp_port = server.address.port();
  if (server.address.family() == sys::AddressFamily::kIpv4) {
    node.family = AF_INET;
    node.addr.addr4.s_addr = htonl(server.address.ipv4());
  } else {
    node.family = AF_INET6;
    std::memcpy(&node.addr.addr6, server.address.ipv6().data(), server.address.ipv6().size());
  }
  return ares_set_servers_ports(channel, &node);
}

}  // namespace

// Socket functions for c-ares. Its own set close-on-exec after the fact, which a fork elsewhere can overtake. The last
// argument is the channel.
struct Channel::Sockets {
  static ares_socket_t Open(int family, int type, int protocol, void* argument) {
    const int fd = ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (fd < 0) return fd;
    if (type == SOCK_DGRAM) {
      static_cast<Channel*>(argument)->datagram_fd_ = fd;
    } else {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return fd;
  }

  static int Close(ares_socket_t fd, void* argument) {
    Channel& channel = *static_cast<Channel*>(argument);
    if (channel.datagram_fd_ == fd) {
      channel.datagram_fd_ = -1;
      channel.refused_ = false;
    }
    return ::close(fd);
  }

  // The address that c-ares passes has lost the scope of a link-local one.
  static int Connect(ares_socket_t fd, const sockaddr*, ares_socklen_t, void* argument) {
    sockaddr_storage storage;
    const socklen_t length = static_cast<Channel*>(argument)->address_.ToSockaddr(storage);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&storage), length);
  }

  // c-ares 1.18 looks neither at the QR bit nor kindly at empty datagrams, so a datagram that is no answer ends here.
  static ares_ssize_t Receive(ares_socket_t fd, void* data, size_t size, int flags, sockaddr* from,
                              ares_socklen_t* length, void* argument) {
    Channel& channel = *static_cast<Channel*>(argument);
    if (fd != channel.datagram_fd_) return ::recvfrom(fd, data, size, flags, from, length);
    constexpr int kDatagramsPerCall = 64;  // then epoll tells again
    for (int i = 0; i < kDatagramsPerCall && !channel.refused_; ++i) {
      const ssize_t count = ::recvfrom(fd, data, size, flags, from, length);
      if (count < 0 || IsAnswer(static_cast<const uint8_t*>(data), count)) return count;
    }
    errno = std::exchange(channel.refused_, false) ? ECONNREFUSED : EAGAIN;
    return -1;
  }

  // ECONNREFUSED of a datagram is the answer to an earlier one. c-ares would take it for a failure of this one alone,
  // and wait for the earlier; so it is kept for Receive, which it does believe for all of them.
  static ares_ssize_t Send(ares_socket_t fd, const iovec* parts, int count, void* argument) {
    Channel& channel = *static_cast<Channel*>(argument);
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = static_cast<size_t>(count);
    const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent >= 0 || errno != ECONNREFUSED || fd != channel.datagram_fd_) return sent;
    channel.refused_ = true;
    ares_ssize_t whole = 0;
    for (int i = 0; i < count; ++i) whole += static_cast<ares_ssize_t>(parts[i].iov_len);
    return whole;
  }

  static constexpr ares_socket_functions kFunctions = {Open, Close, Connect, Receive, Send};
};

struct Channel::Pending {
  Channel* channel;
  uint64_t cookie;
};

Channel::Channel(const NameServer& server, uint32_t id, int epoll_fd, std::vector<Reply>& replies)
    : address_(server.address), id_(id), epoll_fd_(epoll_fd), replies_(replies) {}

Channel::~Channel() {
  if (ares_ != nullptr) ares_destroy(ares_);
}

absl::StatusOr<std::unique_ptr<Channel>> Channel::Create(const NameServer& server, const ServerPlan& plan, uint32_t id,
                                                         int epoll_fd, std::vector<Reply>& replies) {
  std::unique_ptr<Channel> channel(new Channel(server, id, epoll_fd, replies));
  ares_options options{};
  // All that c-ares would else read from files and the environment is given, so it reads none of them.
  char lookups[] = "b";
  options.flags = ARES_FLAG_NOCHECKRESP | ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | (server.tcp ? ARES_FLAG_USEVC : 0);
  options.timeout = static_cast<int>(std::max<int64_t>(plan.first_try_nanos / sys::kNanosPerMilli, 1));
  options.tries = plan.tries;
  options.ndots = 1;
  options.lookups = lookups;
  options.sock_state_cb = &Channel::OnSocketState;
  options.sock_state_cb_data = channel.get();
  const int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_LOOKUPS |
                   ARES_OPT_SOCK_STATE_CB | ARES_OPT_SERVERS | ARES_OPT_DOMAINS | ARES_OPT_SORTLIST | ARES_OPT_NOROTATE;
  int status = InitialiseLibrary();
  if (status == ARES_SUCCESS) status = ares_init_options(&channel->ares_, &options, mask);
  if (status == ARES_SUCCESS) status = SetServer(channel->ares_, server);
  if (status != ARES_SUCCESS) {
    return absl::InternalError(
        absl::StrCat("cannot set up DNS for the name server ", server.address.ToString(), ": ", ares_strerror(status)));
  }
  ares_set_socket_functions(channel->ares_, &Sockets::kFunctions, channel.get());
  return channel;
}

void Channel::Ask(absl::string_view name, RecordType type, uint64_t cookie) {
  unsigned char* message = nullptr;
  int length = 0;
  // Without EDNS: an answer of more than 512 bytes (30 addresses) is rare enough for TCP, and no server stumbles.
  const int status = ares_create_query(std::string(name).c_str(), kClassIn, static_cast<int>(type), /*id=*/0,
                                       /*rd=*/1, &message, &length, /*max_udp_size=*/0);
  if (status != ARES_SUCCESS) {
    replies_.push_back({cookie, OutcomeOfAres(status), {}});
    return;
  }
  AskRaw(absl::MakeConstSpan(message, static_cast<size_t>(length)), cookie);
  ares_free_string(message);
}

void Channel::AskRaw(absl::Span<const uint8_t> message, uint64_t cookie) {
  std::vector<uint8_t> query(message.begin(), message.end());
  // Two bytes are never delivered in part, and the pool is initialised long before a proxy starts. A query without an
  // id that nobody can guess is not sent at all.
  if (query.size() < kHeaderBytes || ::getrandom(query.data(), 2, 0) != 2) {
    replies_.push_back({cookie, Outcome::kServerFailure, {}});
    return;
  }
  ++pending_;
  ++queries_sent_;
  ares_send(ares_, query.data(), static_cast<int>(query.size()), &Channel::OnAnswer, new Pending{this, cookie});
  ReportRefusal();
}

void Channel::OnAnswer(void* argument, int status, int /*timeouts*/, unsigned char* message, int length) {
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(argument));
  Channel& channel = *pending->channel;
  --channel.pending_;
  Reply reply{pending->cookie, OutcomeOfAres(status), {}};
  if (status == ARES_SUCCESS && message != nullptr && length > 0) reply.message.assign(message, message + length);
  channel.replies_.push_back(std::move(reply));
}

void Channel::OnSocketState(void* argument, int fd, int readable, int writable) {
  Channel& channel = *static_cast<Channel*>(argument);
  epoll_event event{};
  event.events = (readable ? uint32_t{EPOLLIN} : 0u) | (writable ? uint32_t{EPOLLOUT} : 0u);
  event.data.u64 = Token(channel.id_, fd);
  if (event.events == 0) {
    channel.watched_.erase(fd);
    ::epoll_ctl(channel.epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
    return;
  }
  const bool is_new = channel.watched_.insert_or_assign(fd, event.events).second;
  // A socket that cannot be watched is not read: its queries time out, which is the error that is reported then.
  ::epoll_ctl(channel.epoll_fd_, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

void Channel::Process(uint64_t token, uint32_t events) {
  const int fd = static_cast<int>(token & 0xffffffff);
  if (!watched_.contains(fd)) return;
  const bool failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  ares_process_fd(ares_, failed || (events & EPOLLIN) != 0 ? fd : ARES_SOCKET_BAD,
                  failed || (events & EPOLLOUT) != 0 ? fd : ARES_SOCKET_BAD);
  ReportRefusal();
}

void Channel::Tick() {
  ares_process_fd(ares_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  ReportRefusal();
}

// Each round uses up a try of every pending query, so there are few.
void Channel::ReportRefusal() {
  constexpr int kMostRounds = 64;
  for (int i = 0; i < kMostRounds && refused_; ++i) ares_process_fd(ares_, datagram_fd_, ARES_SOCKET_BAD);
}

}  // namespace sluice::dns
