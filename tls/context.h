#ifndef SLUICE_TLS_CONTEXT_H_
#define SLUICE_TLS_CONTEXT_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tls/handle.h"
#include "tls/options.h"
#include "tls/session_cache.h"

namespace sluice::tls {

// What sessions with clients start from: certificates, keys, who is trusted, what is negotiated. Made when a
// configuration is loaded, so that everything that can be wrong with it is an error then: a key that is not the
// certificate's, one that cannot be read, a certificate out of its time, a list that means nothing. A reload makes new
// ones; sessions keep theirs.
//
// Renegotiation and compression are refused, tickets are given under the keys of the process (ticket_keys.h) and are
// good only for a context with the same certificates and the same rules for clients.
//
// Immutable, thread-safe; Create() may block on files (trust) and belongs to start-up and reload.
class ServerContext {
 public:
  static absl::StatusOr<std::shared_ptr<const ServerContext>> Create(const ServerOptions& options);

  // A session that waits for its ClientHello. `protocols`: what is chosen from by ALPN, best first; a client that
  // offers none of them gets none. Both it and the context outlive the handshake. Null without memory.
  Handle<SSL> NewSession(const std::vector<std::string>* protocols) const;

 private:
  // One certificate, with the context that has it.
  struct Site {
    Handle<SSL_CTX> context;
    Handle<X509> certificate;
    std::string staple;
  };

  ServerContext() = default;
  static absl::StatusOr<Site> MakeSite(const CertificateFiles& files, const ServerOptions& options);
  static int OnName(SSL* ssl, int* alert, void* self);
  static int OnProtocols(SSL* ssl, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                         unsigned in_size, void*);

  std::vector<Site> sites_;
};

// The same for sessions with upstreams.
//
// Immutable but for its cache; thread-safe.
class ClientContext {
 public:
  static absl::StatusOr<std::shared_ptr<const ClientContext>> Create(const ClientOptions& options);

  // A session that is to say ClientHello to `host` (a name, or the text of an address), resumed if one with that
  // identity is known: `where` tells apart what else a session depends on (address and port). An error: the name cannot
  // be asked for.
  absl::StatusOr<Handle<SSL>> NewSession(const std::string& host, const std::string& where) const;

  bool verifies() const { return verify_; }
  const SessionCache& sessions() const { return *cache_; }

 private:
  ClientContext() = default;
  static int OnNewSession(SSL* ssl, SSL_SESSION* session);

  Handle<SSL_CTX> context_;
  std::string server_name_;
  bool verify_ = false;
  std::shared_ptr<SessionCache> cache_ = std::make_shared<SessionCache>();
};

}  // namespace sluice::tls

#endif  // SLUICE_TLS_CONTEXT_H_
