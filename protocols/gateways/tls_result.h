#ifndef SLUICE_PROTOCOLS_GATEWAYS_TLS_RESULT_H_
#define SLUICE_PROTOCOLS_GATEWAYS_TLS_RESULT_H_

#include "protocols/accounting/result_code.h"

namespace sluice::gateways::result {

// What access records say of an exchange that ended while `tlspr` looked at its handshake.

using accounting::ResultCode;

inline constexpr ResultCode kNotTls{300, "not_tls"};
inline constexpr ResultCode kBadClientHello{301, "bad_client_hello"};
inline constexpr ResultCode kClientHelloCut{302, "client_hello_cut"};  // the client left in the middle
inline constexpr ResultCode kNoServerName{303, "no_server_name"};
inline constexpr ResultCode kTlsCheckFailed{310, "tls_check_failed"};  // -c2 to -c4

}  // namespace sluice::gateways::result

#endif  // SLUICE_PROTOCOLS_GATEWAYS_TLS_RESULT_H_
