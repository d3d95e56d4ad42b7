#ifndef SLUICE_PROTOCOLS_UPSTREAM_PARENT_LIST_H_
#define SLUICE_PROTOCOLS_UPSTREAM_PARENT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "protocols/access/source_location.h"
#include "protocols/upstream/credential_template.h"
#include "sys/net/socket_address.h"

namespace sluice::upstream {

enum class ParentType : uint8_t {
  kTcp,           // another destination in place of the one that was asked for
  kHttp,          // an HTTP proxy that is given whole requests; CONNECT where there are none
  kConnect,       // an HTTP proxy, by CONNECT
  kSocks4,        // 4, or 4a by name
  kSocks5,        //
  kSourceAddress  // `extip`: no parent, but the address from which we connect
  ,
  kProxyHeader,  // `ha`, `ha2`: whoever comes next is told of the client first
  kRedirect,     // `redirect`: kHttp where the service speaks HTTP, else kTcp
  kLocal,        // the service of ours that speaks this protocol
};

enum class LocalService : uint8_t { kNone, kHttp, kFtp, kPop3, kImap, kSmtp, kTls, kAdmin, kDns };

// One `parent` line.
struct Parent {
  int weight = 0;  // of 1000 within its group; 0: used when those with a weight have failed
  ParentType type = ParentType::kTcp;
  bool by_name = false;              // `+`: the destination goes to it by name
  uint8_t proxy_header_version = 0;  // kProxyHeader: 1 or 2; with an address: it is also where to connect
  LocalService local = LocalService::kNone;

  // Where it is: an address (unix ones have no port), a name, or neither: that of the destination. Port 0: likewise.
  sys::SocketAddress address;
  std::string host_name;
  uint16_t port = 0;
  // kSourceAddress: bits of `address` that are fixed; the others are drawn for each connection (IPv6 only). An address
  // that is any: the client's own.
  int prefix_bits = 0;

  CredentialTemplate user;
  CredentialTemplate password;
  bool clients_credentials = false;  // `*`: what the client has given us

  access::SourceLocation location;
  std::string word;  // the type as written: "socks5+"

  bool has_place() const { return address.family() != sys::AddressFamily::kNone || !host_name.empty(); }
  // A proxy that has to be asked.
  bool is_hop() const {
    return type == ParentType::kConnect || type == ParentType::kSocks4 || type == ParentType::kSocks5;
  }
  // Nothing may come behind it.
  bool is_last() const {
    return type == ParentType::kTcp || type == ParentType::kHttp || type == ParentType::kRedirect ||
           type == ParentType::kLocal || (type == ParentType::kProxyHeader && has_place());
  }
  // "socks5+ 192.0.2.1:1080": for messages and logs.
  std::string ToString() const;
};

// The `parent` lines of one rule. They are taken in their order into groups whose weights come to 1000; of each group
// one member is drawn for each connection, and these are passed one after the other, the first group's the nearest.
// Lines of weight 0 belong to the group that is open, or else to the last one.
//
// Immutable once it hangs on a rule: a line that comes later makes another list. Thread-compatible.
struct ParentList {
  static constexpr int kGroupWeight = 1000;
  // Proxies that are passed one after the other. Each costs a round trip or two before the first byte.
  static constexpr int kMostHops = 10;
  static constexpr size_t kMostParents = 1000;

  struct Group {
    size_t first = 0;
    size_t end = 0;
    int weight = 0;
  };

  std::vector<Parent> parents;
  std::vector<Group> groups;

  // Puts a line behind the others. The error says what is wrong and what instead.
  absl::Status Append(Parent parent);
  // Whether the last group is whole.
  absl::Status CheckWhole() const;
};

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_PARENT_LIST_H_
