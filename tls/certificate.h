#ifndef SLUICE_TLS_CERTIFICATE_H_
#define SLUICE_TLS_CERTIFICATE_H_

#include <openssl/ssl.h>

#include "absl/status/status.h"
#include "tls/options.h"

namespace sluice::tls {

// Gives the context a certificate, its chain and its key. Errors name the file and say what is wrong with it: not PEM,
// a key under a password, a key that is not the certificate's, a certificate whose time is over or has not begun, one
// that the library finds too weak.
//
// Start-up and reload only.
absl::Status UseCertificate(const CertificateFiles& files, SSL_CTX* context);

// Whether the response is one that can be given to clients.
absl::Status CheckStaple(const Pem& staple);

// Versions and lists.
absl::Status UseParameters(const Parameters& parameters, SSL_CTX* context);

}  // namespace sluice::tls

#endif  // SLUICE_TLS_CERTIFICATE_H_
