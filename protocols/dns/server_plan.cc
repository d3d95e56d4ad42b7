#include "protocols/dns/server_plan.h"

#include <algorithm>
#include <utility>

#include "sys/thread/clock.h"

namespace sluice::dns {
namespace {

constexpr uint16_t kDnsPort = 53;
constexpr int kMaxTries = 3;
constexpr int64_t kShortestTryNanos = sys::kNanosPerSecond / 2;
constexpr int64_t kLongestServerNanos = 60 * sys::kNanosPerSecond;

}  // namespace

ServerPlan PlanOfServers(std::vector<NameServer> servers, int64_t timeout_nanos) {
  ServerPlan plan;
  plan.servers = std::move(servers);
  if (plan.servers.size() > kMaxNameServers) plan.servers.resize(kMaxNameServers);
  plan.tries = kMaxTries;
  const auto first_try = [&] { return timeout_nanos / ((int64_t{1} << plan.tries) - 1); };
  while (plan.tries > 1 && first_try() < kShortestTryNanos) --plan.tries;
  plan.first_try_nanos = std::max(first_try(), sys::kNanosPerMilli);
  return plan;
}

ServerPlan PlanOfResolvConf(const ResolvConf& conf) {
  ServerPlan plan;
  for (const sys::SocketAddress& address : conf.name_servers) plan.servers.push_back({address, conf.use_tcp});
  if (plan.servers.empty()) {
    plan.servers.push_back({sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, kDnsPort), conf.use_tcp});
  }
  plan.first_try_nanos = conf.timeout_seconds * sys::kNanosPerSecond;
  plan.tries = conf.attempts;
  while (plan.tries > 1 && plan.server_nanos() > kLongestServerNanos) --plan.tries;
  plan.rotate = conf.rotate;
  return plan;
}

}  // namespace sluice::dns
