#include "tls/context.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tls/certificate.h"
#include "tls/ticket_keys.h"
#include "tls/verify.h"

namespace sluice::tls {
namespace {

// What a read of ciphertext takes at most: two full records, so that one is ahead.
constexpr size_t kReadAheadBytes = 2 * (SSL3_RT_MAX_PLAIN_LENGTH + SSL3_RT_MAX_ENCRYPTED_OVERHEAD);

int ProtocolsIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// Common to both roles. Null without memory.
Handle<SSL_CTX> NewContext(const SSL_METHOD* method) {
  InitializeLibrary();
  Handle<SSL_CTX> context(SSL_CTX_new(method));
  if (context == nullptr) return nullptr;
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // An idle session holds no buffer; and a write that was cut short may be gone on with from other memory.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kReadAheadBytes);
  return context;
}

absl::Status OutOfMemory() { return absl::ResourceExhaustedError("out of memory"); }

// Tickets are for services with the same certificates and the same rules for clients.
std::string SessionContextOf(const ServerOptions& options) {
  std::string all = absl::StrCat(options.verify, "\n", options.trust.file.text, "\n", options.trust.folder, "\n",
                                 options.trust.store, "\n");
  for (const CertificateFiles& files : options.certificates) absl::StrAppend(&all, files.chain.text, "\n");
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(all.data(), all.size(), digest, &size, EVP_sha256(), nullptr);
  return std::string(reinterpret_cast<const char*>(digest), std::min<size_t>(size, SSL_MAX_SID_CTX_LENGTH));
}

int OnStapleAsked(SSL* ssl, void* staple) {
  const auto& bytes = *static_cast<const std::string*>(staple);
  if (bytes.empty()) return SSL_TLSEXT_ERR_NOACK;
  void* const copy = OPENSSL_memdup(bytes.data(), bytes.size());
  if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(bytes.size()));  // NOLINT: OpenSSL's type
  return SSL_TLSEXT_ERR_OK;
}

// What a session with an upstream is known by; goes with the SSL.
struct Identity {
  std::shared_ptr<SessionCache> cache;
  std::string name;
  sys::MonotonicNanos began = 0;
};

void FreeIdentity(void*, void* identity, CRYPTO_EX_DATA*, int, long, void*) {  // NOLINT: OpenSSL's type
  delete static_cast<Identity*>(identity);
}

int IdentityIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeIdentity);
  return index;
}

}  // namespace

absl::StatusOr<ServerContext::Site> ServerContext::MakeSite(const CertificateFiles& files,
                                                            const ServerOptions& options) {
  Site site;
  site.context = NewContext(TLS_server_method());
  if (site.context == nullptr) return OutOfMemory();
  SSL_CTX* const context = site.context.get();
  // Before the certificate, which is measured by the level that they set.
  if (absl::Status status = UseParameters(options.parameters, context); !status.ok()) return status;
  if (absl::Status status = UseCertificate(files, context); !status.ok()) return status;
  if (!files.staple.empty()) {
    if (absl::Status status = CheckStaple(files.staple); !status.ok()) return status;
    site.staple = files.staple.text;
  }
  site.certificate.reset(SSL_CTX_get0_certificate(context));
  X509_up_ref(site.certificate.get());
  if (!options.trust.empty()) {
    if (absl::Status status = AddTrust(options.trust, SSL_CTX_get_cert_store(context)); !status.ok()) return status;
  }
  if (options.verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // Tells clients whose certificates are of use.
    STACK_OF(X509_NAME)* const names = sk_X509_NAME_new_null();
    Handle<BIO> reader(
        BIO_new_mem_buf(options.trust.file.text.data(), static_cast<int>(options.trust.file.text.size())));
    while (Handle<X509> authority{PEM_read_bio_X509_AUX(reader.get(), nullptr, nullptr, nullptr)}) {
      sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(authority.get())));
    }
    ERR_clear_error();
    SSL_CTX_set_client_CA_list(context, names);
  }
  const std::string id = SessionContextOf(options);
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(id.data()),
                                 static_cast<unsigned>(id.size()));
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // Given with the first data (RecordEngine): a client that only sends and closes would be left with them unread, and
  // its close would become a reset that destroys what it has sent.
  SSL_CTX_set_num_tickets(context, 0);
  TicketKeys::OfProcess().Serve(context);
  return site;
}

absl::StatusOr<std::shared_ptr<const ServerContext>> ServerContext::Create(const ServerOptions& options) {
  std::shared_ptr<ServerContext> self(new ServerContext());
  for (const CertificateFiles& files : options.certificates) {
    absl::StatusOr<Site> site = MakeSite(files, options);
    if (!site.ok()) return site.status();
    self->sites_.push_back(*std::move(site));
  }
  if (self->sites_.empty()) return absl::InvalidArgumentError("there is no certificate");
  for (Site& site : self->sites_) {
    SSL_CTX_set_tlsext_status_cb(site.context.get(), OnStapleAsked);
    SSL_CTX_set_tlsext_status_arg(site.context.get(), &site.staple);
    SSL_CTX_set_alpn_select_cb(site.context.get(), OnProtocols, nullptr);
  }
  SSL_CTX* const first = self->sites_.front().context.get();
  SSL_CTX_set_tlsext_servername_callback(first, OnName);
  SSL_CTX_set_tlsext_servername_arg(first, self.get());
  return std::shared_ptr<const ServerContext>(std::move(self));
}

Handle<SSL> ServerContext::NewSession(const std::vector<std::string>* protocols) const {
  Handle<SSL> ssl(SSL_new(sites_.front().context.get()));
  if (ssl == nullptr) return nullptr;
  SSL_set_ex_data(ssl.get(), ProtocolsIndex(), const_cast<std::vector<std::string>*>(protocols));
  SSL_set_accept_state(ssl.get());
  return ssl;
}

int ServerContext::OnName(SSL* ssl, int*, void* self) {
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
  for (const Site& site : static_cast<const ServerContext*>(self)->sites_) {
    if (X509_check_host(site.certificate.get(), name, std::strlen(name), 0, nullptr) != 1) continue;
    SSL_set_SSL_CTX(ssl, site.context.get());
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;  // it gets the first one, and may judge for itself
}

int ServerContext::OnProtocols(SSL* ssl, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                               unsigned in_size, void*) {
  const auto* const protocols = static_cast<const std::vector<std::string>*>(SSL_get_ex_data(ssl, ProtocolsIndex()));
  if (protocols == nullptr) return SSL_TLSEXT_ERR_NOACK;
  for (const std::string& protocol : *protocols) {
    for (unsigned at = 0; at < in_size && at + 1 + in[at] <= in_size; at += 1u + in[at]) {
      if (protocol.size() != in[at] || std::memcmp(protocol.data(), in + at + 1, in[at]) != 0) continue;
      *out = in + at + 1;
      *out_size = in[at];
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_NOACK;
}

absl::StatusOr<std::shared_ptr<const ClientContext>> ClientContext::Create(const ClientOptions& options) {
  std::shared_ptr<ClientContext> self(new ClientContext());
  self->context_ = NewContext(TLS_client_method());
  if (self->context_ == nullptr) return OutOfMemory();
  SSL_CTX* const context = self->context_.get();
  if (absl::Status status = UseParameters(options.parameters, context); !status.ok()) return status;
  if (!options.certificate.chain.empty()) {
    if (absl::Status status = UseCertificate(options.certificate, context); !status.ok()) return status;
  }
  if (options.verify) {
    X509_STORE* const store = SSL_CTX_get_cert_store(context);
    const absl::Status status = options.trust.empty() ? AddSystemTrust(store) : AddTrust(options.trust, store);
    if (!status.ok()) return status;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  std::string protocols;
  for (const std::string& protocol : options.protocols) {
    protocols += static_cast<char>(protocol.size());
    protocols += protocol;
  }
  if (!protocols.empty() && SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(protocols.data()),
                                                    static_cast<unsigned>(protocols.size())) != 0) {
    return absl::InvalidArgumentError("ALPN: a name has 1 to 255 bytes");
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, OnNewSession);
  self->server_name_ = options.server_name;
  self->verify_ = options.verify;
  return std::shared_ptr<const ClientContext>(std::move(self));
}

absl::StatusOr<Handle<SSL>> ClientContext::NewSession(const std::string& host, const std::string& where) const {
  Handle<SSL> ssl(SSL_new(context_.get()));
  if (ssl == nullptr) return OutOfMemory();
  SSL_set_connect_state(ssl.get());
  const std::string& name = server_name_.empty() ? host : server_name_;
  if (!name.empty() && !ExpectHost(ssl.get(), name, verify_)) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the name of the upstream cannot be one in TLS");
  }
  if (name.empty() && verify_) return absl::InvalidArgumentError("the upstream has no name to be checked");
  auto identity = std::make_unique<Identity>();
  identity->cache = cache_;
  identity->name = absl::StrCat(name, "|", where);
  identity->began = sys::Clock::System().Now();
  if (std::optional<SessionCache::Entry> known = cache_->Take(identity->name)) {
    if (SSL_set_session(ssl.get(), known->session.get()) == 1) identity->began = known->began;
  }
  SSL_set_ex_data(ssl.get(), IdentityIndex(), identity.release());
  return ssl;
}

// A session that can be resumed; in TLS 1.3 each ticket is one. 1: it is ours now.
int ClientContext::OnNewSession(SSL* ssl, SSL_SESSION* session) {
  const auto* const identity = static_cast<const Identity*>(SSL_get_ex_data(ssl, IdentityIndex()));
  if (identity == nullptr || SSL_SESSION_is_resumable(session) == 0) return 0;
  // A full handshake after all: it counts anew.
  const sys::MonotonicNanos began = SSL_session_reused(ssl) == 1 ? identity->began : sys::Clock::System().Now();
  identity->cache->Put(identity->name, {Handle<SSL_SESSION>(session), began});
  return 1;
}

}  // namespace sluice::tls
