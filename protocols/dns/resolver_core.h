#ifndef SLUICE_PROTOCOLS_DNS_RESOLVER_CORE_H_
#define SLUICE_PROTOCOLS_DNS_RESOLVER_CORE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "protocols/dns/flights.h"
#include "protocols/dns/known_names.h"
#include "protocols/dns/lookups.h"
#include "protocols/dns/resolver.h"
#include "protocols/dns/watched_file.h"
#include "sys/base/unique_fd.h"
#include "sys/thread/mailbox.h"
#include "sys/thread/thread_role.h"

namespace sluice::dns {

// The resolver's thread and what it owns: files, flights, look-ups, one epoll over c-ares's sockets and an eventfd.
//
// Held by the resolver and by the thread: whoever goes last destroys it.
//
// Threads: Start() at start-up, Post(), Find() and stats() thread-safe, the rest on the thread itself.
class Resolver::Core : public std::enable_shared_from_this<Core> {
 public:
  struct Request {
    std::variant<Question, sys::SocketAddress, std::string> what;  // the string: a message to forward
    sys::MonotonicNanos deadline = 0;
    std::variant<Callback, NamesCallback, ForwardCallback> callback;
    // Known without asking: only to be called back.
    std::optional<Result> result;
  };

  explicit Core(ResolverOptions options);

  absl::Status Start();
  // Ends the thread after it has cancelled what is pending. Waits for that, unless this is the thread itself.
  void Stop();
  void Post(Request request);
  // See KnownNames::Find(). Also sees to it that the files are looked at once a second.
  std::optional<Result> Find(const Question& question);
  ResolverStats stats() const;

 private:
  void Loop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  void Wait(sys::MonotonicNanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  void TakeRequests(sys::MonotonicNanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  void Begin(Request request, sys::MonotonicNanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  void BeginForward(const std::string& message, ForwardCallback callback, sys::MonotonicNanos now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  void EndForward(uint64_t id, Outcome outcome, std::string answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  absl::Status ReadFiles(sys::MonotonicNanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  absl::Status ReadResolvConf(sys::MonotonicNanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  void PublishCounters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  void Wake();

  const ResolverOptions options_;
  sys::ThreadRole role_;
  sys::UniqueFd epoll_;
  sys::UniqueFd wake_;
  KnownNames known_;
  WatchedFile hosts_file_ ABSL_GUARDED_BY(role_);
  WatchedFile resolv_conf_file_ ABSL_GUARDED_BY(role_);
  std::optional<Flights> flights_ ABSL_GUARDED_BY(role_);
  std::optional<Lookups> lookups_ ABSL_GUARDED_BY(role_);
  struct Forwarding {
    ForwardCallback callback;
    std::string id;  // the client's, two bytes
  };
  absl::flat_hash_map<uint64_t, Forwarding> forwardings_ ABSL_GUARDED_BY(role_);
  uint64_t next_forwarding_id_ ABSL_GUARDED_BY(role_) = 1;
  std::vector<Request> incoming_ ABSL_GUARDED_BY(role_);
  sys::Mailbox<Request> mailbox_;
  std::atomic<bool> stop_{false};
  std::atomic<sys::MonotonicNanos> files_read_at_{0};
  std::atomic<bool> files_wanted_{false};  // somebody used a result that a file may have changed meanwhile

  std::atomic<int64_t> queries_sent_{0};
  std::atomic<int64_t> refused_{0};
  int64_t refused_lookups_ ABSL_GUARDED_BY(role_) = 0;  // of those, how many lookups_ has told
  std::atomic<int64_t> answered_locally_{0};
  std::array<std::atomic<int64_t>, 9> results_{};

  std::thread thread_;
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_RESOLVER_CORE_H_
