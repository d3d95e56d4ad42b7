#ifndef SLUICE_PROTOCOLS_DNS_TESTING_RESOLVER_FIXTURE_H_
#define SLUICE_PROTOCOLS_DNS_TESTING_RESOLVER_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocols/dns/resolver.h"
#include "protocols/dns/testing/mock_dns_server.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::dns::testing {

inline sys::MonotonicNanos Now() { return sys::Clock::System().Now(); }
inline sys::MonotonicNanos InMillis(int64_t millis) { return Now() + millis * sys::kNanosPerMilli; }

inline std::vector<std::string> Texts(const Result& result) {
  std::vector<std::string> texts;
  for (const sys::SocketAddress& address : result.addresses) texts.push_back(address.IpText());
  return texts;
}

// Collects results from callbacks.
class Results {
 public:
  Resolver::Callback Callback() {
    return [this](Result result) {
      sys::MutexLock lock(mutex_);
      results_.push_back(std::move(result));
      added_.NotifyAll();
    };
  }

  // Once there are `count`, or after twenty seconds.
  std::vector<Result> WaitFor(size_t count) {
    const sys::MonotonicNanos deadline = InMillis(20'000);
    sys::MutexLock lock(mutex_);
    while (results_.size() < count && Now() < deadline) added_.WaitFor(mutex_, std::chrono::milliseconds(100));
    return results_;
  }

 private:
  sys::Mutex mutex_;
  sys::CondVar added_;
  std::vector<Result> results_ ABSL_GUARDED_BY(mutex_);
};

// Two mock name servers, and a resolver whose cache runs on a clock that the test turns.
class ResolverFixture : public ::testing::Test {
 protected:
  // The first server only; no files.
  ResolverOptions Options() {
    ResolverOptions options;
    options.name_servers = {{first_.address()}};
    options.hosts_path = "";
    options.resolv_conf_path = "";
    options.cache_clock = &clock_;
    return options;
  }

  ResolverOptions BothServers() {
    ResolverOptions options = Options();
    options.name_servers.push_back({second_.address()});
    return options;
  }

  void Start(ResolverOptions options) {
    absl::StatusOr<std::unique_ptr<Resolver>> resolver = Resolver::Create(std::move(options));
    ASSERT_TRUE(resolver.ok()) << resolver.status();
    resolver_ = *std::move(resolver);
  }

  Result Ask(const std::string& name, FamilyPreference family = FamilyPreference::kPreferIpv4) {
    return resolver_->ResolveBlocking({name, family}, InMillis(20'000));
  }
  Result AskIpv4(const std::string& name) { return Ask(name, FamilyPreference::kIpv4Only); }

  MockDnsServer first_;
  MockDnsServer second_;
  sys::ManualClock clock_;
  std::unique_ptr<Resolver> resolver_;
};

}  // namespace sluice::dns::testing

#endif  // SLUICE_PROTOCOLS_DNS_TESTING_RESOLVER_FIXTURE_H_
