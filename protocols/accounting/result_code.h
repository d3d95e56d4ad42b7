#ifndef SLUICE_PROTOCOLS_ACCOUNTING_RESULT_CODE_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_RESULT_CODE_H_

#include <cstdint>

#include "relay/end_reason.h"

namespace sluice::accounting {

// How far an exchange had come when it ended.
enum class Phase : uint8_t { kAccept, kHandshake, kResolve, kConnect, kRelay };

// "accept", "handshake", "resolve", "connect", "relay".
const char* PhaseName(Phase phase);

// What an exchange came to: 3proxy's number (`%E`), which scripts written for it match, and a name that tells apart
// what shares a number: 13 is "connect failed", whatever the errno. Names are part of the log's interface: lower case
// with underscores, and once given never changed.
//
// `name` is a literal. A protocol may define codes of its own in its range (3xx tlspr, 4xx SOCKS, 5xx HTTP, 6xx POP3,
// 7xx FTP, 8xx ftppr and DNS) where it uses them.
struct ResultCode {
  uint16_t number = 0;
  const char* name = "ok";

  bool ok() const { return number == 0; }
};

namespace result {

inline constexpr ResultCode kOk{0, "ok"};

// 1-10: who may.
inline constexpr ResultCode kDenied{1, "denied"};
inline constexpr ResultCode kRevoked{1, "revoked"};
inline constexpr ResultCode kNoRuleMatched{3, "no_rule_matched"};
inline constexpr ResultCode kUserRequired{4, "user_required"};
inline constexpr ResultCode kNoClientName{4, "no_client_name"};  // dnsname: none that leads back to the client
inline constexpr ResultCode kUnknownUser{5, "unknown_user"};
inline constexpr ResultCode kBadPassword{6, "bad_password"};           // clear text
inline constexpr ResultCode kBadPasswordHash{7, "bad_password_hash"};  // crypt
inline constexpr ResultCode kBadPasswordNt{8, "bad_password_nt"};
inline constexpr ResultCode kTrafficLimit{10, "traffic_limit"};
inline constexpr ResultCode kConnectionLimit{10, "connection_limit"};
inline constexpr ResultCode kAddressLimit{10, "address_limit"};  // the authentication cache's limit of addresses a user

// 11-15: sockets. The names under 13 come from ConnectResult.
inline constexpr ResultCode kSocketFailed{11, "socket_failed"};
inline constexpr ResultCode kNoDescriptors{11, "no_descriptors"};
inline constexpr ResultCode kBindFailed{12, "bind_failed"};
inline constexpr ResultCode kConnectFailed{13, "connect_failed"};
inline constexpr ResultCode kConnectRefused{13, "connect_refused"};
inline constexpr ResultCode kConnectTimeout{13, "connect_timeout"};
inline constexpr ResultCode kConnectReset{13, "connect_reset"};
inline constexpr ResultCode kConnectNotPermitted{13, "connect_not_permitted"};
inline constexpr ResultCode kNetworkUnreachable{13, "network_unreachable"};
inline constexpr ResultCode kHostUnreachable{13, "host_unreachable"};
inline constexpr ResultCode kNoLocalPort{13, "no_local_port"};
inline constexpr ResultCode kNoSuchSocket{13, "no_such_socket"};  // a unix path
inline constexpr ResultCode kNoSocketName{14, "no_socket_name"};
inline constexpr ResultCode kSocketOptionFailed{15, "socket_option_failed"};

inline constexpr ResultCode kFiltered{19, "filtered"};
inline constexpr ResultCode kOutOfMemory{21, "out_of_memory"};
inline constexpr ResultCode kOverloaded{21, "overloaded"};  // no handshake thread in time

// 3x, 4x, 5x-6x, 7x: parents.
inline constexpr ResultCode kConnectParentFailed{31, "connect_parent_failed"};
inline constexpr ResultCode kConnectParentBadReply{32, "connect_parent_bad_reply"};
inline constexpr ResultCode kConnectParentRefused{33, "connect_parent_refused"};
inline constexpr ResultCode kConnectParentAuthFailed{34, "connect_parent_auth_failed"};
inline constexpr ResultCode kSocks4ParentFailed{41, "socks4_parent_failed"};
inline constexpr ResultCode kSocks4ParentBadReply{42, "socks4_parent_bad_reply"};
inline constexpr ResultCode kSocks4ParentRefused{43, "socks4_parent_refused"};
inline constexpr ResultCode kSocks4ParentAuthFailed{44, "socks4_parent_auth_failed"};
inline constexpr ResultCode kSocks5ParentFailed{51, "socks5_parent_failed"};
inline constexpr ResultCode kSocks5ParentBadReply{52, "socks5_parent_bad_reply"};
inline constexpr ResultCode kSocks5ParentRefused{53, "socks5_parent_refused"};
inline constexpr ResultCode kSocks5ParentAuthFailed{54, "socks5_parent_auth_failed"};
inline constexpr ResultCode kChainFailed{70, "chain_failed"};
inline constexpr ResultCode kChainTimeout{72, "chain_timeout"};

// 90-99: the data phase.
inline constexpr ResultCode kRelayFailed{90, "relay_failed"};
inline constexpr ResultCode kShutdown{90, "shutdown"};
inline constexpr ResultCode kTimeout{92, "timeout"};
inline constexpr ResultCode kLimitReached{93, "limit_reached"};
inline constexpr ResultCode kUnsentData{94, "unsent_data"};
inline constexpr ResultCode kClientReadFailed{95, "client_read_failed"};
inline constexpr ResultCode kClientWriteFailed{95, "client_write_failed"};
inline constexpr ResultCode kUpstreamReadFailed{96, "upstream_read_failed"};
inline constexpr ResultCode kUpstreamWriteFailed{96, "upstream_write_failed"};
// TLS. Truncated: the connection ended without close_notify, so what came may not be all.
inline constexpr ResultCode kClientTlsFailed{95, "client_tls_failed"};
inline constexpr ResultCode kClientTlsTruncated{95, "client_tls_truncated"};
inline constexpr ResultCode kUpstreamTlsFailed{96, "upstream_tls_failed"};
inline constexpr ResultCode kUpstreamTlsTruncated{96, "upstream_tls_truncated"};
inline constexpr ResultCode kBothFailed{97, "both_failed"};
inline constexpr ResultCode kRecordsDropped{98, "records_dropped"};  // not an exchange: a gap in the log
inline constexpr ResultCode kInternal{99, "internal_error"};

inline constexpr ResultCode kNameNotResolved{100, "name_not_resolved"};
inline constexpr ResultCode kLoop{519, "loop_to_self"};
inline constexpr ResultCode kNotImplemented{999, "not_implemented"};

}  // namespace result

// The code of a failed connect(), bind() or socket() on the way upstream, by its positive errno.
ResultCode ConnectResult(int error);

// The code of a session's end. `phase` tells a connect() that failed from a fault of the running relay where the reason
// does not.
//
// Both are pure and thread-safe.
ResultCode ResultOf(const relay::EndReason& reason, Phase phase);

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_RESULT_CODE_H_
