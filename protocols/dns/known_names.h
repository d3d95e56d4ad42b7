#ifndef SLUICE_PROTOCOLS_DNS_KNOWN_NAMES_H_
#define SLUICE_PROTOCOLS_DNS_KNOWN_NAMES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "protocols/dns/answer.h"
#include "protocols/dns/cache.h"
#include "protocols/dns/hosts_file.h"
#include "protocols/dns/question.h"
#include "protocols/dns/resolv_conf.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::dns {

// One `nsrecord` line. The address 0.0.0.0 or "::" makes the name one that never resolves.
struct StaticRecord {
  std::string name;
  sys::SocketAddress address;
};

// A failure (SERVFAIL, REFUSED, silence) is remembered this long: it keeps a storm of clients from a name server in
// trouble, and is over before anybody notices that it works again.
constexpr int64_t kFailureTtlSeconds = 2;

// Everything that answers a question without a name server, in order of precedence:
//  1. static records, which are final: a name with an IPv4 record only has no IPv6 address;
//  2. with `fake_resolve`, every other name is 127.0.0.2 and ::2, so that parents resolve it;
//  3. the hosts file, if it has an address of a wanted family;
//  4. "localhost" and names below it are the loopback addresses, names below "invalid" do not exist (RFC 6761 sections
//     6.3 and 6.4);
//  5. the caches of earlier answers, negative ones and failures included.
//
// Thread-safe. The mutex is held for a look-up or an insertion only, never over a system call: workers take it.
class KnownNames {
 public:
  struct Options {
    std::vector<StaticRecord> static_records;
    bool fake_resolve = false;
    size_t cache_ipv4_entries = 0;
    size_t cache_ipv6_entries = 0;
    const sys::Clock* clock = nullptr;  // what TTLs are measured with; outlives this object
  };

  // Records with a name that is none are left out; the configuration has checked them (host_name.h).
  explicit KnownNames(const Options& options);

  // The whole result, if each name of the search list that counts is known for each wanted family.
  std::optional<Result> Find(const Question& question);

  // A cached answer of one type for one complete name.
  std::optional<Answer> FindCached(absl::string_view name, RecordType type);

  // Takes an answer of a name server into the cache; a TTL of 0 is not kept, a failure for kFailureTtlSeconds.
  void Store(absl::string_view name, RecordType type, const Answer& answer);

  void SetHosts(HostsTable hosts);
  void SetSearch(SearchRules search);
  SearchRules search();

 private:
  std::optional<Result> FindLocal(const Question& question) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Result> FindInCaches(const Question& question) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Answer> FindCachedLocked(absl::string_view name, RecordType type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const sys::Clock& clock_;
  const bool fake_resolve_;
  HostsTable static_records_;  // const after the constructor
  sys::Mutex mutex_;
  HostsTable hosts_ ABSL_GUARDED_BY(mutex_);
  SearchRules search_ ABSL_GUARDED_BY(mutex_);
  Cache ipv4_ ABSL_GUARDED_BY(mutex_);
  Cache ipv6_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_KNOWN_NAMES_H_
