#include "tls/ticket_keys.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <cstring>
#include <ctime>

namespace sluice::tls {
namespace {

int KeysIndex() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// When the full handshake was, which a resumed session takes over from its ticket: in it, as seconds.
int OnTicketMade(SSL* ssl, void*) {
  SSL_SESSION* const session = SSL_get_session(ssl);
  void* held = nullptr;
  size_t size = 0;
  if (SSL_SESSION_get0_ticket_appdata(session, &held, &size) == 1 && size == sizeof(int64_t)) return 1;
  const int64_t now = std::time(nullptr);
  return SSL_SESSION_set1_ticket_appdata(session, &now, sizeof now);
}

SSL_TICKET_RETURN OnTicketRead(SSL*, SSL_SESSION* session, const unsigned char*, size_t, SSL_TICKET_STATUS status,
                               void*) {
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) return SSL_TICKET_RETURN_IGNORE_RENEW;
  void* held = nullptr;
  size_t size = 0;
  int64_t made = 0;
  if (SSL_SESSION_get0_ticket_appdata(session, &held, &size) != 1 || size != sizeof made) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  std::memcpy(&made, held, sizeof made);
  const int64_t age = std::time(nullptr) - made;
  if (age < 0 || age > TicketKeys::kLongestSeconds) return SSL_TICKET_RETURN_IGNORE_RENEW;
  return status == SSL_TICKET_SUCCESS_RENEW ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_USE;
}

}  // namespace

TicketKeys& TicketKeys::OfProcess() {
  static TicketKeys* const keys = new TicketKeys(&sys::Clock::System());
  return *keys;
}

void TicketKeys::Serve(SSL_CTX* context) {
  SSL_CTX_set_ex_data(context, KeysIndex(), this);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, OnTicket);
  SSL_CTX_set_session_ticket_cb(context, OnTicketMade, OnTicketRead, nullptr);
  SSL_CTX_set_timeout(context, kLongestSeconds);
}

bool TicketKeys::Rotate() {
  Key key;
  if (RAND_bytes(key.name, kNameBytes) != 1 || RAND_priv_bytes(key.encryption, kKeyBytes) != 1 ||
      RAND_priv_bytes(key.authentication, kKeyBytes) != 1) {
    return false;
  }
  key.made = clock_->Now();
  if (previous_.has_value()) OPENSSL_cleanse(&*previous_, sizeof(Key));
  previous_ = current_;
  current_ = key;
  return true;
}

std::optional<TicketKeys::Key> TicketKeys::Find(const unsigned char* name, bool& renew) {
  sys::MutexLock lock(mutex_);
  const sys::MonotonicNanos now = clock_->Now();
  if (!current_.has_value() || now - current_->made >= kLifetimeNanos) {
    if (current_.has_value() && now - current_->made >= 2 * kLifetimeNanos) current_.reset();  // nobody was here
    if (!Rotate()) return std::nullopt;
  }
  renew = false;
  if (name == nullptr || CRYPTO_memcmp(name, current_->name, kNameBytes) == 0) return current_;
  renew = true;
  if (previous_.has_value() && CRYPTO_memcmp(name, previous_->name, kNameBytes) == 0) return previous_;
  return std::nullopt;
}

// 0: no such key, a full handshake follows; 1; 2: the ticket is good, and is to be replaced; -1: it cannot be done.
int TicketKeys::OnTicket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                         int encrypt) {
  auto* const self = static_cast<TicketKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), KeysIndex()));
  bool renew = false;
  std::optional<Key> key = self->Find(encrypt == 1 ? nullptr : name, renew);
  if (!key.has_value()) return encrypt == 1 ? -1 : 0;
  const EVP_CIPHER* const method = EVP_aes_256_cbc();
  if (encrypt == 1) {
    std::memcpy(name, key->name, kNameBytes);
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(method)) != 1) return -1;
  }
  char digest[] = "SHA256";
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->authentication, kKeyBytes),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  const bool good = EVP_CipherInit_ex(cipher, method, nullptr, key->encryption, iv, encrypt) == 1 &&
                    EVP_MAC_CTX_set_params(mac, parameters) == 1;
  OPENSSL_cleanse(&*key, sizeof(Key));
  if (!good) return -1;
  return renew ? 2 : 1;
}

}  // namespace sluice::tls
