#ifndef SLUICE_PROTOCOLS_DNS_HOSTS_FILE_H_
#define SLUICE_PROTOCOLS_DNS_HOSTS_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::dns {

// The most of a hosts file that is read. Block lists of 200,000 names are about 6 MB.
constexpr size_t kMaxHostsFileBytes = 16 << 20;

// The addresses of one name that is known without a name server.
struct HostAddresses {
  std::vector<sys::SocketAddress> ipv4;
  std::vector<sys::SocketAddress> ipv6;
  // The name was given 0.0.0.0 or "::", which says that it shall not be reached (connecting to 0.0.0.0 would reach this
  // machine). Holds only while there is no other address.
  bool never_resolves = false;

  // Adds one address (port is dropped); more than kMaxAddresses of a family are ignored.
  void Add(const sys::SocketAddress& address);
  bool empty() const { return ipv4.empty() && ipv6.empty(); }
};

// What a hosts file says: hosts(5), "ADDRESS NAME [NAME...] [# comment]". Names are kept in lower case without a
// trailing dot. A name on several lines has all their addresses, in the order of the file.
//
// Thread-compatible.
class HostsTable {
 public:
  // Adds `address` to `name`. False, and nothing is added, if the name is not a host name.
  bool Add(absl::string_view name, const sys::SocketAddress& address);

  // `name` in lower case without a trailing dot (host_name.h). nullptr when the name is not there.
  const HostAddresses* Find(absl::string_view name) const;

  size_t size() const { return names_.size(); }

 private:
  absl::flat_hash_map<std::string, HostAddresses> names_;
};

// Parses the text of a hosts file. Lines that are not understood (an address that is none, a bad name) are skipped as
// the C library does, and counted in `ignored_lines` if given: one typing error must not take away all other names.
//
// Pure; the cost is linear in the text.
HostsTable ParseHosts(absl::string_view text, size_t* ignored_lines = nullptr);

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_HOSTS_FILE_H_
