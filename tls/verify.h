#ifndef SLUICE_TLS_VERIFY_H_
#define SLUICE_TLS_VERIFY_H_

#include <openssl/ssl.h>

#include <string>

#include "absl/status/status.h"
#include "tls/options.h"

namespace sluice::tls {

// Fills the store with everything that `trust` names. Errors say which file, folder or store, and why: one without a
// single certificate is an error.
//
// Start-up and reload only (may block on files).
absl::Status AddTrust(const Trust& trust, X509_STORE* store);

// The authorities that the system trusts, from where distributions keep them.
absl::Status AddSystemTrust(X509_STORE* store);

// From here on the other side must be `host`: a name (RFC 6125, no partial wildcards) or the text of an IP address,
// which is asked for by SNI in the first case only (RFC 6066 section 3). `verify`: its certificate must say so, else
// only SNI is set. False when the name cannot be one.
bool ExpectHost(SSL* ssl, const std::string& host, bool verify);

// Why the certificate of the other side was not believed: "certificate has expired"; empty when it was.
std::string VerifyFailure(const SSL* ssl);

}  // namespace sluice::tls

#endif  // SLUICE_TLS_VERIFY_H_
