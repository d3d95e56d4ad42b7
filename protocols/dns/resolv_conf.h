#ifndef SLUICE_PROTOCOLS_DNS_RESOLV_CONF_H_
#define SLUICE_PROTOCOLS_DNS_RESOLV_CONF_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::dns {

// The most name servers that are used (what `nserver` takes; the C library uses three), the most search domains, and
// the most of the file that is read.
constexpr size_t kMaxNameServers = 5;
constexpr size_t kMaxSearchDomains = 16;
constexpr size_t kMaxResolvConfBytes = 64 << 10;

// How a relative name is completed: resolv.conf(5), `search` and `options ndots`.
struct SearchRules {
  std::vector<std::string> domains;  // lower case, without dots at the ends
  int ndots = 1;                     // a name with at least so many dots is tried as it stands first; 0-15
};

// The names to ask for, in order, when `name` (lower case, without the trailing dot) is looked up. `absolute`: the name
// ended in a dot, so it is the only one. Completed names that would be too long are left out.
//
// Pure.
std::vector<std::string> SearchCandidates(absl::string_view name, bool absolute, const SearchRules& rules);

// What is used of resolv.conf(5). Unknown keywords and options are ignored, as the C library does. Not taken over: the
// domain part of the host name as a search domain when none is given, and the variables LOCALDOMAIN and RES_OPTIONS,
// since the environment of a service is not where its operator looks.
struct ResolvConf {
  std::vector<sys::SocketAddress> name_servers;  // port 53; empty: the file names none
  SearchRules search;
  int timeout_seconds = 5;  // `timeout`, 1-30: before the next server is asked
  int attempts = 2;         // `attempts`, 1-5: tries a server
  bool rotate = false;      // `rotate`: start with another server each time
  bool use_tcp = false;     // `use-vc`
};

// Parses the text of a resolv.conf. Lines that are not understood are skipped and counted in `ignored_lines` if given.
// Of `search` and `domain` lines the last one counts.
//
// Pure; the cost is linear in the text.
ResolvConf ParseResolvConf(absl::string_view text, size_t* ignored_lines = nullptr);

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_RESOLV_CONF_H_
