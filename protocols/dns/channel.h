#ifndef SLUICE_PROTOCOLS_DNS_CHANNEL_H_
#define SLUICE_PROTOCOLS_DNS_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "protocols/dns/answer.h"
#include "protocols/dns/server_plan.h"
#include "sys/net/socket_address.h"

struct ares_channeldata;

namespace sluice::dns {

// One name server, spoken to by c-ares: datagrams and their repetition, TCP when an answer is truncated or the server
// is a TCP one, and the comparison of id and question. What the server says is passed on as it is; which server comes
// next is not decided here.
//
// A datagram counts only if it comes from the server's address and port (the sockets are connected), is an answer (QR),
// has the id (from getrandom) and repeats the question. Others are dropped, and the waiting goes on (RFC 5452).
//
// The channel registers its sockets with the caller's epoll, under Token(). They are closed when nothing is pending, so
// the source port changes.
//
// Threads: the resolver thread only.
class Channel {
 public:
  // What became of one Ask().
  struct Reply {
    uint64_t cookie = 0;
    // kOk: `message` is the answer, whatever it says. Else there is none: kTimeout, kServerFailure (the server cannot
    // be reached), kMalformed, kNotFound (a name that c-ares does not ask for: .onion, RFC 7686).
    Outcome transport = Outcome::kOk;
    std::vector<uint8_t> message;
  };

  // `replies` gets what Process, Tick, Ask and the destructor find out; it and `epoll_fd` are borrowed and outlive the
  // channel. `id` is unique among the channels of an epoll.
  static absl::StatusOr<std::unique_ptr<Channel>> Create(const NameServer& server, const ServerPlan& plan, uint32_t id,
                                                         int epoll_fd, std::vector<Reply>& replies);
  // What is still pending comes back as kCancelled.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Sends a query; exactly one reply will carry `cookie`, within the plan's server_nanos and one Tick. `name` is a
  // valid host name without a trailing dot.
  void Ask(absl::string_view name, RecordType type, uint64_t cookie);

  // The same for a whole query message, of any type, which the caller has checked (flights.h); the id in it is
  // replaced.
  void AskRaw(absl::Span<const uint8_t> message, uint64_t cookie);

  // An epoll event for one of this channel's sockets. Harmless for a socket that is closed by now.
  void Process(uint64_t token, uint32_t events);

  // Lets c-ares look at its timeouts: to be called every kTickNanos while pending() is not 0. (Its own computation of
  // the next timeout walks over all queries.)
  void Tick();
  static constexpr int64_t kTickNanos = 20'000'000;

  uint32_t id() const { return id_; }
  size_t pending() const { return pending_; }
  int64_t queries_sent() const { return queries_sent_; }

  static uint64_t Token(uint32_t id, int fd) { return uint64_t{id} << 32 | static_cast<uint32_t>(fd); }
  static uint32_t IdOfToken(uint64_t token) { return static_cast<uint32_t>(token >> 32); }

 private:
  struct Pending;
  struct Sockets;

  Channel(const NameServer& server, uint32_t id, int epoll_fd, std::vector<Reply>& replies);

  static void OnAnswer(void* argument, int status, int timeouts, unsigned char* message, int length);
  static void OnSocketState(void* argument, int fd, int readable, int writable);

  void ReportRefusal();

  sys::SocketAddress address_;
  const uint32_t id_;
  const int epoll_fd_;
  std::vector<Reply>& replies_;
  ares_channeldata* ares_ = nullptr;
  absl::flat_hash_map<int, uint32_t> watched_;  // socket -> epoll events
  int datagram_fd_ = -1;                        // c-ares has one at a time
  bool refused_ = false;  // a datagram on it came back as "port unreachable", and c-ares does not know yet
  size_t pending_ = 0;
  int64_t queries_sent_ = 0;
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_CHANNEL_H_
