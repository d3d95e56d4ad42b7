#include "tls/handle.h"

#include <openssl/err.h>

namespace sluice::tls {

std::string TakeErrorText() {
  // The first error is the cause, what follows is who passed it on.
  const unsigned long code = ERR_get_error();  // NOLINT: OpenSSL's type
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

void InitializeLibrary() {
  static const int done = OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);
  (void)done;
}

}  // namespace sluice::tls
