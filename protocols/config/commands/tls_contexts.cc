// What the `ssl_*` settings above a service come to.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "protocols/config/commands/tls.h"
#include "protocols/config/tls_settings.h"
#include "tls/context.h"
#include "tls/options.h"

namespace sluice::config {
namespace {

using service::ServiceType;

// Certificates with their keys. False: an error was said.
bool PairUp(CommandContext& context, const TlsSettings& settings, tls::ServerOptions& options) {
  const size_t count = settings.certificates.size();
  if (count == 0) {
    context.Error("ssl_serv is on and no certificate was given, write ssl_server_cert FILE and ssl_server_key FILE");
    return false;
  }
  if (!settings.keys.empty() && settings.keys.size() != count) {
    context.Error(absl::StrCat("ssl_server_cert was given ", count, " times and ssl_server_key ", settings.keys.size(),
                               " times, the first key is for the first certificate and so on, give each its own"));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    options.certificates.push_back(
        {settings.certificates[i], settings.keys.empty() ? tls::Pem() : settings.keys[i], settings.staples[i]});
  }
  return true;
}

std::shared_ptr<const tls::ServerContext> MakeServer(CommandContext& context, const TlsSettings& settings) {
  tls::ServerOptions options = settings.server;
  if (!PairUp(context, settings, options)) return nullptr;
  if (options.verify && options.trust.empty()) {
    context.Error(
        "ssl_server_verify asks clients for certificates and nobody is trusted to have made them, write "
        "ssl_server_ca_file FILE");
    return nullptr;
  }
  absl::StatusOr<std::shared_ptr<const tls::ServerContext>> made = tls::ServerContext::Create(options);
  if (made.ok()) return *std::move(made);
  context.Error(absl::StrCat("ssl_serv: ", made.status().message()));
  return nullptr;
}

std::shared_ptr<const tls::ClientContext> MakeClient(CommandContext& context, const TlsSettings& settings) {
  if (settings.client.certificate.chain.empty() && !settings.client.certificate.key.empty()) {
    context.Error("ssl_client_key was given and ssl_client_cert was not, give both or none");
    return nullptr;
  }
  absl::StatusOr<std::shared_ptr<const tls::ClientContext>> made = tls::ClientContext::Create(settings.client);
  if (!made.ok()) {
    context.Error(absl::StrCat("ssl_cli: ", made.status().message()));
    return nullptr;
  }
  if (!settings.client.verify) {
    context.Warning(
        "upstreams are not verified, whoever sits on the way can read and change everything, write "
        "ssl_client_verify (and ssl_client_ca_file FILE where the system's authorities are not meant)");
  }
  return *std::move(made);
}

bool SpeaksTls(ServiceType type) {
  return type == ServiceType::kTcpPortMap || type == ServiceType::kHttpProxy || type == ServiceType::kSocks;
}

}  // namespace

bool TakeTlsSettings(CommandContext& context, service::ServiceOptions& options) {
  TlsSettings& settings = context.state.tls;
  if (!settings.serves && !settings.connects) return true;
  if (!SpeaksTls(options.type)) {
    context.Error(absl::StrCat("ssl_serv or ssl_cli is on and ", context.name(),
                               " is no service for it, write ssl_noserv and ssl_nocli above this line"));
    return false;
  }
  if (settings.serves) {
    if (!settings.server_context) settings.server_context = MakeServer(context, settings);
    settings.list_was_taken = true;
    options.tls.server = *settings.server_context;
  }
  if (settings.connects) {
    if (!settings.client_context) settings.client_context = MakeClient(context, settings);
    if (settings.client_mode == 3) {
      if (context.state.noted.insert("ssl_client_mode 3").second) {
        context.Warning("ssl_client_mode 3 is for parents, there is none, upstreams are reached without TLS");
      }
    } else {
      options.tls.client = *settings.client_context;
    }
  }
  return (!settings.serves || *settings.server_context != nullptr) &&
         (!settings.connects || *settings.client_context != nullptr);
}

}  // namespace sluice::config
