#ifndef SLUICE_TLS_HANDLE_H_
#define SLUICE_TLS_HANDLE_H_

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/store.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace sluice::tls {

// Ownership of what OpenSSL makes. A handle is moved, never copied; what it holds may be shared by OpenSSL itself.
struct HandleFree {
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(SSL* p) const { SSL_free(p); }
  void operator()(SSL_SESSION* p) const { SSL_SESSION_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_STORE* p) const { X509_STORE_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(BIO* p) const { BIO_free_all(p); }
  void operator()(OSSL_STORE_CTX* p) const { OSSL_STORE_close(p); }
  void operator()(OSSL_STORE_INFO* p) const { OSSL_STORE_INFO_free(p); }
};
template <typename T>
using Handle = std::unique_ptr<T, HandleFree>;

// What OpenSSL says of the last failed call of this thread, in its words ("certificate verify failed"), and forgets.
// Never a secret, never anything that the other side has chosen. "no reason given" where there is none.
std::string TakeErrorText();

// Once in the process, before anything else of OpenSSL: no file of the system's changes what it does.
void InitializeLibrary();

}  // namespace sluice::tls

#endif  // SLUICE_TLS_HANDLE_H_
