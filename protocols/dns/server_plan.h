#ifndef SLUICE_PROTOCOLS_DNS_SERVER_PLAN_H_
#define SLUICE_PROTOCOLS_DNS_SERVER_PLAN_H_

#include <cstdint>
#include <vector>

#include "protocols/dns/resolv_conf.h"
#include "sys/net/socket_address.h"

namespace sluice::dns {

// One `nserver`. With `tcp`, it is asked over TCP only; else over UDP, and over TCP what does not fit.
struct NameServer {
  sys::SocketAddress address;
  bool tcp = false;

  friend bool operator==(const NameServer& a, const NameServer& b) { return a.address == b.address && a.tcp == b.tcp; }
};

// Which name servers are asked, and how patiently.
//
// A server is asked `tries` times, waiting `first_try_nanos`, then twice that, then four times; together that is the
// time that a server has, `server_nanos`. The next server is asked as soon as this one fails, and already after
// `first_try_nanos` when it is silent: waiting the whole DNS timeout (15 s) for a dead first server would lose every
// client. The first proper answer wins, also one that comes late.
struct ServerPlan {
  std::vector<NameServer> servers;  // 1-kMaxNameServers
  int64_t first_try_nanos = 0;
  int tries = 1;
  bool rotate = false;

  int64_t server_nanos() const { return first_try_nanos * ((int64_t{1} << tries) - 1); }
  // After so long all tries of all servers are over.
  int64_t total_nanos() const { return server_nanos() + first_try_nanos * static_cast<int64_t>(servers.size() - 1); }

  friend bool operator==(const ServerPlan& a, const ServerPlan& b) {
    return a.servers == b.servers && a.first_try_nanos == b.first_try_nanos && a.tries == b.tries &&
           a.rotate == b.rotate;
  }
};

// For `nserver` lines: each server has `timeout_nanos` (`timeouts`, DNS), in up to three tries of at least half a
// second.
//
// Pure.
ServerPlan PlanOfServers(std::vector<NameServer> servers, int64_t timeout_nanos);

// For resolv.conf: its `timeout` and `attempts`. Without a name server there it is 127.0.0.1, as in the C library. A
// server has at most a minute, whatever the options multiply to.
//
// Pure.
ServerPlan PlanOfResolvConf(const ResolvConf& conf);

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_SERVER_PLAN_H_
