#include "protocols/config/commands/tls.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/config/file_reader.h"
#include "protocols/config/tls_settings.h"
#include "tls/options.h"

namespace sluice::config {
namespace {

// Of a certificate, a key or a list of authorities. The largest list in use has 220 KB.
constexpr size_t kMostPemBytes = size_t{16} << 20;

TlsSettings& SettingsOf(CommandContext& context) { return context.state.tls; }

// Contexts made so far are of other settings.
void ForgetServer(TlsSettings& settings) { settings.server_context.reset(); }
void ForgetClient(TlsSettings& settings) { settings.client_context.reset(); }

// The file that the command names. An error was said when there is none.
std::optional<tls::Pem> ReadPem(CommandContext& context) {
  const std::string& path = context.argument(1);
  absl::StatusOr<std::string> text = context.state.options.files->Read(path, kMostPemBytes);
  if (!text.ok()) {
    context.Error(absl::StrCat(Quoted(path), " cannot be read, ", text.status().message(), ", give a file in PEM"));
    return std::nullopt;
  }
  return tls::Pem{path, *std::move(text)};
}

void AddCertificate(CommandContext& context) {
  TlsSettings& settings = SettingsOf(context);
  ForgetServer(settings);
  if (std::exchange(settings.list_was_taken, false) || context.arguments() == 0) {
    settings.certificates.clear();
    settings.keys.clear();
    settings.staples.clear();
  }
  if (context.arguments() == 0) return;
  std::optional<tls::Pem> pem = ReadPem(context);
  if (!pem) return;
  // Beside the certificate, as other programs have it; none is the rule.
  const std::string beside = absl::StrCat(pem->name, ".ocsp");
  absl::StatusOr<std::string> staple = context.state.options.files->Read(beside, kMostPemBytes);
  settings.staples.push_back(staple.ok() ? tls::Pem{beside, *std::move(staple)} : tls::Pem());
  settings.certificates.push_back(*std::move(pem));
}

void AddKey(CommandContext& context) {
  TlsSettings& settings = SettingsOf(context);
  ForgetServer(settings);
  // Behind a service and before the next certificate, it is the first of a new list.
  if (settings.list_was_taken || context.arguments() == 0) settings.keys.clear();
  if (std::exchange(settings.list_was_taken, false)) {
    settings.certificates.clear();
    settings.staples.clear();
  }
  if (context.arguments() == 0) return;
  if (std::optional<tls::Pem> pem = ReadPem(context)) settings.keys.push_back(*std::move(pem));
}

void SetPem(CommandContext& context, tls::Pem& where) {
  where = tls::Pem();
  if (context.arguments() == 0) return;
  if (std::optional<tls::Pem> pem = ReadPem(context)) where = *std::move(pem);
}

std::optional<uint16_t> VersionOf(absl::string_view word) {
  if (word == "TLSv1" || word == "TLSv1.0") return tls::kTls10;
  if (word == "TLSv1.1") return tls::kTls11;
  if (word == "TLSv1.2") return tls::kTls12;
  if (word == "TLSv1.3") return tls::kTls13;
  return std::nullopt;
}

void SetVersion(CommandContext& context, uint16_t unset, uint16_t& where) {
  where = unset;
  if (context.arguments() == 0) return;
  const std::optional<uint16_t> version = VersionOf(context.argument(1));
  if (!version) {
    return context.Error(absl::StrCat(Quoted(context.argument(1)),
                                      " is no version, there are TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3, give one"));
  }
  where = *version;
}

void SetProtocols(CommandContext& context, std::vector<std::string>& where) {
  where.clear();
  for (int i = 1; i <= context.arguments(); ++i) {
    const std::string& name = context.argument(i);
    if (name.empty() || name.size() > 255) {
      return context.Error("a protocol has a name of 1 to 255 bytes (RFC 7301), give one, like http/1.1");
    }
    where.push_back(name);
  }
}

void SetServerName(CommandContext& context, std::string& where) {
  where.clear();
  if (context.arguments() == 0) return;
  if (const absl::Status status = CheckHostName(context.argument(1)); !status.ok()) {
    return context.Error(absl::StrCat(Quoted(context.argument(1)), " ", status.message(), ", give a name"));
  }
  where = context.argument(1);
}

std::string ArgumentOrNothing(const CommandContext& context) {
  return context.arguments() == 0 ? "" : context.argument(1);
}

// What both roles have; false: it is no such setting.
bool SetParameter(CommandContext& context, absl::string_view name, tls::Trust& trust, tls::Parameters& parameters) {
  if (name == "ca_file") {
    SetPem(context, trust.file);
  } else if (name == "ca_dir") {
    trust.folder = ArgumentOrNothing(context);
  } else if (name == "ca_store") {
    trust.store = ArgumentOrNothing(context);
  } else if (name == "ciphersuites") {
    parameters.ciphersuites = ArgumentOrNothing(context);
  } else if (name == "cipher_list") {
    parameters.cipher_list = ArgumentOrNothing(context);
  } else if (name == "min_proto_version") {
    SetVersion(context, tls::kTls12, parameters.min_version);
  } else if (name == "max_proto_version") {
    SetVersion(context, 0, parameters.max_version);
  } else {
    return false;
  }
  return true;
}

void SetForClient(CommandContext& context, absl::string_view name) {
  TlsSettings& settings = SettingsOf(context);
  ForgetClient(settings);
  tls::ClientOptions& client = settings.client;
  if (SetParameter(context, name, client.trust, client.parameters)) return;
  if (name == "cert") return SetPem(context, client.certificate.chain);
  if (name == "key") return SetPem(context, client.certificate.key);
  if (name == "sni") return SetServerName(context, client.server_name);
  SetProtocols(context, client.protocols);  // alpn
}

}  // namespace

void HandleSslServ(CommandContext& context) { SettingsOf(context).serves = true; }
void HandleSslNoServ(CommandContext& context) { SettingsOf(context).serves = false; }
void HandleSslCli(CommandContext& context) { SettingsOf(context).connects = true; }
void HandleSslNoCli(CommandContext& context) { SettingsOf(context).connects = false; }
void HandleSslNoMitm(CommandContext&) {}  // it is never on
void HandleSslNoKtls(CommandContext&) {}  // likewise

void HandleSslKtls(CommandContext& context) {
  if (context.arguments() > 0) {
    return context.Error(absl::StrCat(Quoted(context.argument(1)),
                                      " asks for TLS in the kernel and nothing else, sluice does not have it yet, "
                                      "write ssl_ktls alone, which does without where it is not to be had"));
  }
  if (context.state.noted.insert("ssl_ktls").second) {
    context.Warning("sluice has no TLS in the kernel yet, all sessions stay in the process, the line can stay");
  }
}

void HandleSslSetting(CommandContext& context) {
  const absl::string_view name = context.name();
  if (absl::StartsWith(name, "ssl_client_")) return SetForClient(context, name.substr(11));
  if (name == "ssl_server_cert") return AddCertificate(context);
  if (name == "ssl_server_key") return AddKey(context);
  TlsSettings& settings = SettingsOf(context);
  ForgetServer(settings);
  SetParameter(context, name.substr(11), settings.server.trust, settings.server.parameters);
}

void HandleSslVerify(CommandContext& context) {
  TlsSettings& settings = SettingsOf(context);
  const bool verify = !absl::EndsWith(context.name(), "_no_verify");
  if (absl::StartsWith(context.name(), "ssl_client_")) {
    ForgetClient(settings);
    settings.client.verify = verify;
  } else {
    ForgetServer(settings);
    settings.server.verify = verify;
  }
}

void HandleSslClientMode(CommandContext& context) {
  const auto mode = context.Number(1, 0, 3,
                                   "0 is the handshake right after connect(), 1 after the parent's consent, 2 before "
                                   "data, 3 for parents of the types with s only, give one");
  if (mode) SettingsOf(context).client_mode = static_cast<int>(*mode);
}

}  // namespace sluice::config
