#ifndef SLUICE_TLS_TICKET_KEYS_H_
#define SLUICE_TLS_TICKET_KEYS_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::tls {

// The keys under which clients keep their sessions (tickets, RFC 5077 and RFC 8446 section 4.6.1): made in this
// process, never written anywhere, the same for all workers and over reloads. A key encrypts for kLifetimeNanos; the
// one before it still decrypts, so a ticket is good for one to two lifetimes, less what Stamp() takes away.
//
// Which tickets a service accepts is not decided by the key but by the session's context (ServerContext), so a client
// admitted under other rules does not pass.
//
// Thread-safe.
class TicketKeys {
 public:
  static constexpr int64_t kLifetimeNanos = 2 * 3600 * sys::kNanosPerSecond;
  // A session that was resumed gets a new ticket, but none is good for longer than this after the one full handshake.
  static constexpr int64_t kLongestSeconds = 2 * 3600;

  // Public for tests; all contexts use OfProcess(). `clock` must outlive it.
  explicit TicketKeys(const sys::Clock* clock) : clock_(clock) {}
  static TicketKeys& OfProcess();

  // Makes the context give and take tickets under these keys, which must outlive it.
  void Serve(SSL_CTX* context);

 private:
  static constexpr size_t kNameBytes = 16;
  static constexpr size_t kKeyBytes = 32;
  struct Key {
    unsigned char name[kNameBytes];
    unsigned char encryption[kKeyBytes];
    unsigned char authentication[kKeyBytes];
    sys::MonotonicNanos made = 0;
  };

  static int OnTicket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                      int encrypt);
  // False: the system has no randomness.
  bool Rotate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The key to encrypt with (`name` null), or the one of that name. `renew`: another one is in use by now.
  std::optional<Key> Find(const unsigned char* name, bool& renew);

  const sys::Clock* const clock_;
  sys::Mutex mutex_;
  std::optional<Key> current_ ABSL_GUARDED_BY(mutex_);
  std::optional<Key> previous_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sluice::tls

#endif  // SLUICE_TLS_TICKET_KEYS_H_
