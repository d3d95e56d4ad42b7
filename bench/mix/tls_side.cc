#include "bench/mix/tls_side.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "absl/strings/str_cat.h"

namespace sluice::bench::mix {
namespace {

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;

absl::Status SslError(absl::string_view what) {
  char reason[256];
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  ERR_clear_error();
  return absl::InternalError(absl::StrCat(what, ": ", reason));
}

absl::StatusOr<SslContext> NewContext(const SSL_METHOD* method, const std::string& version) {
  SslContext context(SSL_CTX_new(method));
  if (context == nullptr) return SslError("making a TLS context");
  const int least = version == "1.3" ? TLS1_3_VERSION : TLS1_2_VERSION;
  const int most = version == "1.2" ? TLS1_2_VERSION : TLS1_3_VERSION;
  if (!SSL_CTX_set_min_proto_version(context.get(), least) || !SSL_CTX_set_max_proto_version(context.get(), most)) {
    return SslError("setting the TLS version");
  }
  // What is written again after WANT_WRITE are the same bytes at another place. Idle ones keep no buffers.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  return context;
}

// A self-signed certificate in memory.
absl::Status UseOwnCertificate(SSL_CTX* context) {
  Key key(EVP_EC_gen("P-256"));
  Certificate certificate(X509_new());
  if (key == nullptr || certificate == nullptr) return SslError("making a key");
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24 * 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("mix.example"), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), name);
  if (X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0 ||
      SSL_CTX_use_certificate(context, certificate.get()) != 1 || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return SslError("making a certificate");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SslContext> ConnectingContext(const std::string& version) {
  return NewContext(TLS_client_method(), version);
}

absl::StatusOr<SslContext> AcceptingContext(const std::string& version, const std::string& certificate_file,
                                            const std::string& key_file) {
  absl::StatusOr<SslContext> context = NewContext(TLS_server_method(), version);
  if (!context.ok()) return context;
  if (certificate_file.empty() && key_file.empty()) {
    if (absl::Status status = UseOwnCertificate(context->get()); !status.ok()) return status;
    return context;
  }
  if (SSL_CTX_use_certificate_chain_file(context->get(), certificate_file.c_str()) != 1) {
    return SslError(absl::StrCat("--cert ", certificate_file));
  }
  if (SSL_CTX_use_PrivateKey_file(context->get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context->get()) != 1) {
    return SslError(absl::StrCat("--key ", key_file));
  }
  return context;
}

bool TlsSide::StartTls(SSL_CTX* context, bool accepting) {
  ssl_.reset(SSL_new(context));
  if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), stream_.fd()) != 1) return false;
  if (accepting) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
  }
  return true;
}

ssize_t TlsSide::Receive(char* out, size_t size) {
  if (ssl_ == nullptr) return stream_.Receive(out, size);
  ERR_clear_error();
  return Result(SSL_read(ssl_.get(), out, static_cast<int>(std::min<size_t>(size, INT_MAX))));
}

ssize_t TlsSide::Send(absl::string_view bytes) {
  if (ssl_ == nullptr) return stream_.Send(bytes);
  ERR_clear_error();
  return Result(SSL_write(ssl_.get(), bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), INT_MAX))));
}

// The library tries the socket and says what it met; the stream's memory of readiness is not used.
ssize_t TlsSide::Result(int result) {
  if (result > 0) return result;
  const int error = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_SYSCALL:
      return error != 0 ? -error : -EPROTO;
    default:
      return -EPROTO;
  }
}

int TlsSide::ShutWrite() {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    // 0: our close_notify is sent, the other side's has not come: that is all that is wanted here.
    const int result = SSL_shutdown(ssl_.get());
    if (result < 0) {
      const ssize_t error = Result(result);
      return error == 0 ? -EPROTO : static_cast<int>(error);
    }
  }
  stream_.ShutWrite();
  return 0;
}

}  // namespace sluice::bench::mix
