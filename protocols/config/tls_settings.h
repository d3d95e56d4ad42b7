#ifndef SLUICE_PROTOCOLS_CONFIG_TLS_SETTINGS_H_
#define SLUICE_PROTOCOLS_CONFIG_TLS_SETTINGS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tls/context.h"
#include "tls/options.h"

namespace sluice::config {

// What the `ssl_*` commands have said so far. Contexts are made when the first service needs them, and shared by the
// services up to the next change.
//
// Thread-compatible.
struct TlsSettings {
  bool serves = false;    // ssl_serv
  bool connects = false;  // ssl_cli
  int client_mode = 0;

  // Of one list, until a service has taken it: then the next certificate begins a new one.
  std::vector<tls::Pem> certificates;
  std::vector<tls::Pem> keys;
  std::vector<tls::Pem> staples;  // of the certificates, empty ones where there is none
  bool list_was_taken = false;

  tls::ServerOptions server;  // but its certificates
  tls::ClientOptions client;

  // Null inside: it could not be made, which was said.
  std::optional<std::shared_ptr<const tls::ServerContext>> server_context;
  std::optional<std::shared_ptr<const tls::ClientContext>> client_context;
};

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_TLS_SETTINGS_H_
