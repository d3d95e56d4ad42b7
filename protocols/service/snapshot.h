#ifndef SLUICE_PROTOCOLS_SERVICE_SNAPSHOT_H_
#define SLUICE_PROTOCOLS_SERVICE_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/access/limits/limit_rule.h"
#include "protocols/access/rule_set.h"
#include "protocols/access/source_location.h"
#include "protocols/accounting/counters/counter_keeper.h"
#include "protocols/auth/auth_options.h"
#include "protocols/auth/user_table.h"
#include "relay/relay_options.h"
#include "sys/net/address_range.h"
#include "sys/net/socket_address.h"
#include "sys/net/socket_options.h"
#include "sys/thread/clock.h"
#include "tls/context.h"

namespace sluice::service {

using access::SourceLocation;

enum class ServiceType : uint8_t { kTcpPortMap, kSocks, kHttpProxy, kUdpPortMap, kTlsSniff, kAuto };

// Whether a service has a UDP port.
constexpr bool IsDatagram(ServiceType type) { return type == ServiceType::kUdpPortMap; }

// `-4`, `-6`, `-46`, `-64`: which addresses of a name are used, and which first.
enum class FamilyPreference : uint8_t { kIpv4Only, kIpv6Only, kPreferIpv4, kPreferIpv6 };

// `timeouts`, in its order; seconds in the file, nanoseconds here.
struct Timeouts {
  int64_t byte_short = 1 * sys::kNanosPerSecond;
  int64_t byte_long = 5 * sys::kNanosPerSecond;
  int64_t string_short = 30 * sys::kNanosPerSecond;
  int64_t string_long = 60 * sys::kNanosPerSecond;
  int64_t connection_short = 180 * sys::kNanosPerSecond;
  int64_t connection_long = 1800 * sys::kNanosPerSecond;
  int64_t dns = 15 * sys::kNanosPerSecond;
  int64_t chain = 60 * sys::kNanosPerSecond;
  int64_t connect = 15 * sys::kNanosPerSecond;
  int64_t connect_back = 5 * sys::kNanosPerSecond;
  int64_t linger = 5 * sys::kNanosPerSecond;
};

// `log` and `-l`: where a service's access records go.
struct LogOptions {
  enum class Target : uint8_t { kNone, kStdout, kFile, kSyslog, kDevNull };
  Target target = Target::kNone;
  std::string name;      // file name or template; syslog identity
  char rotation = 0;     // c H D W M Y, 0 = never
  int keep_rotated = 0;  // `rotate`; 0 = all
  std::string format;    // `logformat`; empty = 3proxy's default; "json"
};

// Where a relay leads: exactly one of an address and a name.
struct RelayTarget {
  sys::SocketAddress address;  // kNone when `host_name` says it
  std::string host_name;
  uint16_t port = 0;
};

// `-u`: whether clients are asked for a name and a password.
enum class ClientCredentials : uint8_t {
  kNever,
  kOffered,
  kRequired,
  kVerified,  // SOCKS: checked while they are negotiated, not with the request
};

// `-H`: clients come over balancers that begin each connection with a PROXY header.
struct ProxyProtocol {
  bool required = false;
  std::vector<sys::AddressRange> sources;  // who may send one; empty: anybody
};

// `udp_ports`: the ports of a range, both ends included; 0 and 0 = any.
struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;
  bool shared = false;  // one port for all associations: first and last are the same
};

// What concerns `socks` alone.
struct SocksOptions {
  // `-Ne`, `-Ni`: told to clients in place of the address that we have towards upstreams (CONNECT, BIND) or towards
  // them (UDP ASSOCIATE). No port.
  std::optional<sys::SocketAddress> told_external;
  std::optional<sys::SocketAddress> told_internal;
  // `-U1`, `-U3`: a record for each destination of a UDP association when it is met. `-U2`, `-U3`: the rules judge each
  // of them, and not only the first.
  bool log_each_destination = true;
  bool judge_each_destination = true;
  PortRange udp_ports;  // where UDP ASSOCIATE opens its ports
};

// `-a`: what HTTP origins are told of the client.
enum class ClientDisclosure : uint8_t {
  kForwarded,  // default: "Forwarded: for=...;by=..." (RFC 7239), behind what the client sent of it
  kNothing,    // -a: nothing, and what the client sent of that kind is taken out
  kRandom,     // -a1: Via and an X-Forwarded-For with an address that means nothing
  kReal,       // -a2: Via and the client's address in X-Forwarded-For
};

// What concerns `proxy` alone.
struct HttpOptions {
  ClientDisclosure disclosure = ClientDisclosure::kForwarded;
  bool keep_upstreams = true;  // -k0: a connection to an origin serves one client, and is closed with it
  // -h: whom requests are for that name nobody (a path, and no Host field or an empty one). Empty: they are refused.
  std::string default_host;  // an IPv6 address without brackets
  uint16_t default_port = 80;
};

// `-c`: what `tlspr` insists on before it lets a session go its way; each includes those before it.
enum class TlsDemand : uint8_t { kNone, kClientHello, kServerHello, kServerCertificate, kClientCertificate };

// What concerns `tlspr`, and `auto` for TLS clients.
struct SniffOptions {
  TlsDemand demand = TlsDemand::kNone;
  uint16_t target_port = 0;  // -P; 0 = 443
};

// Where TLS is spoken. Made when the configuration is loaded; sessions keep the ones they began with.
struct TlsContexts {
  std::shared_ptr<const tls::ServerContext> server;  // ssl_serv: clients speak it to us; null: they do not
  std::shared_ptr<const tls::ClientContext> client;  // ssl_cli: we speak it to upstreams; null: we do not
};

// `parentsticky`: whose connections have the same parents as long as these work.
enum class ParentSticky : uint8_t { kNone, kSource, kUser };

// How requests go over parents; which ones is a matter of rules.
struct ParentOptions {
  int retries = 2;  // `parentretries`: how often another chain is drawn after a failure
  ParentSticky sticky = ParentSticky::kNone;
};

// One service command with every setting that was in force on its line. Immutable once loaded.
struct ServiceOptions {
  ServiceType type = ServiceType::kTcpPortMap;
  std::string log_name;  // "TCPPM"
  SourceLocation location;

  sys::SocketAddress listen;                        // address and port (0 = any free port), or unix
  std::string listen_device;                        // -Di
  std::string outgoing_device;                      // -De
  std::optional<sys::SocketAddress> external_ipv4;  // -e / external
  std::optional<sys::SocketAddress> external_ipv6;
  FamilyPreference family = FamilyPreference::kPreferIpv4;
  std::vector<sys::SocketOptionValue> client_socket_options;    // -oc
  std::vector<sys::SocketOptionValue> upstream_socket_options;  // -os
  std::vector<sys::SocketOptionValue> listen_socket_options;    // -ol

  int maxconn = 500;
  int backlog = 0;  // 0 = 1 + maxconn / 8
  Timeouts timeouts;
  relay::RelayOptions relay;  // its times are filled from `timeouts`
  RelayTarget target;         // tcppm, udppm
  ProxyProtocol proxy_protocol;
  bool transparent = false;  // -T, transparent: whom clients are for is told by their redirected connections
  ClientCredentials credentials = ClientCredentials::kOffered;
  SocksOptions socks;
  bool single_datagram = false;  // udppm -s: a session is for one datagram and its answer
  HttpOptions http;
  SniffOptions sniff;
  // -h: for clients that name nobody. Port 0: the protocol's own.
  std::optional<RelayTarget> default_target;
  TlsContexts tls;

  ParentOptions parents;
  // Who may use it, for what. Null: everybody, for everything.
  std::shared_ptr<const access::RuleSet> rules;
  auth::AuthOptions auth;

  LogOptions log;
  bool force_reauthorise = true;  // force / noforce
};

// `udp_ports N`: the UDP port on which all associations of this service are, opened with it; kNone without one. Clients
// of a unix socket are on this machine.
inline sys::SocketAddress SharedAssociationPort(const ServiceOptions& options) {
  const bool associates = options.type == ServiceType::kSocks || options.type == ServiceType::kAuto;
  if (!associates || !options.socks.udp_ports.shared) return {};
  sys::SocketAddress address =
      options.listen.is_ip() ? options.listen : sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0);
  address.set_port(options.socks.udp_ports.first);
  return address;
}

// `nserver`, `nscache`, `nscache6`, `nsrecord`.
struct DnsOptions {
  struct Server {
    sys::SocketAddress address;
    bool tcp = false;
  };
  struct Record {
    std::string name;
    std::optional<sys::SocketAddress> address;  // nothing: the name never resolves (0.0.0.0)
  };
  std::vector<Server> servers;       // empty: /etc/resolv.conf
  std::vector<Server> auth_servers;  // `authnserver`: for `auth dnsname`; empty: `servers`
  int cache_ipv4_entries = 0;
  int cache_ipv6_entries = 0;
  std::vector<Record> records;
  bool fake_resolve = false;  // `fakeresolve`: parents do it
  int64_t timeout_nanos = 15 * sys::kNanosPerSecond;
};

// What concerns the process and not one service. Taken at start; a reload applies what can change (dns, monitors) and
// warns about the rest.
struct ProcessOptions {
  std::string pidfile;
  bool daemon = false;
  std::optional<std::string> user;   // setuid: name or number
  std::optional<std::string> group;  // setgid
  std::optional<std::string> chroot;
  std::optional<std::pair<std::string, std::string>> chroot_identity;  // chroot P U [G]; second may be empty
  std::vector<std::string> monitors;
  std::optional<std::string> reload_path;  // config
};

// A whole configuration, built at once and never changed: services and sessions hold the one that they started with, a
// reload replaces the pointer.
struct Snapshot {
  std::vector<std::unique_ptr<const ServiceOptions>> services;
  std::shared_ptr<const auth::UserTable> users;  // `users`, for all services; null: none
  DnsOptions dns;
  // Limits concern all services, wherever they stand.
  std::vector<access::LimitRule> limits;
  accounting::CounterFileOptions counters;
  ProcessOptions process;
  uint64_t generation = 0;  // 1 for the first; set by the server
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_SNAPSHOT_H_
