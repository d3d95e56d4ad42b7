#include "tls/verify.h"

#include <dirent.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"
#include "tls/handle.h"

namespace sluice::tls {
namespace {

// Larger than any bundle of authorities (Debian's has 220 KB), smaller than what would hurt.
constexpr size_t kMostFileBytes = size_t{16} << 20;

// Every certificate of a PEM text; what else stands between them is passed over. The number added.
int AddPem(const std::string& text, X509_STORE* store) {
  Handle<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  int count = 0;
  while (Handle<X509> certificate{PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(store, certificate.get()) == 1) ++count;
  }
  ERR_clear_error();  // the end of the text is an error, too
  return count;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return sys::ErrnoStatus(errno, path);
  if (!S_ISREG(status.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, ": it is no file"));
  if (static_cast<size_t>(status.st_size) > kMostFileBytes) {
    return absl::OutOfRangeError(absl::StrCat(path, ": it has more than ", kMostFileBytes, " bytes"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.eof() && file.fail()) return absl::UnavailableError(absl::StrCat(path, ": it cannot be read"));
  return text;
}

absl::Status AddFolder(const std::string& folder, X509_STORE* store) {
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (dir == nullptr) return sys::ErrnoStatus(errno, folder);
  int count = 0;
  while (const dirent* entry = readdir(dir.get())) {
    const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(folder, "/", entry->d_name));
    if (text.ok()) count += AddPem(*text, store);
  }
  if (count > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(folder, ": no file in it has a certificate in PEM"));
}

absl::Status AddUri(const std::string& uri, X509_STORE* store) {
  Handle<OSSL_STORE_CTX> source(OSSL_STORE_open(uri.c_str(), nullptr, nullptr, nullptr, nullptr));
  if (source == nullptr) return absl::InvalidArgumentError(absl::StrCat(uri, ": ", TakeErrorText()));
  int count = 0;
  while (OSSL_STORE_eof(source.get()) == 0) {
    const Handle<OSSL_STORE_INFO> info(OSSL_STORE_load(source.get()));
    if (info == nullptr) {
      if (OSSL_STORE_error(source.get()) != 0) break;
      continue;
    }
    if (OSSL_STORE_INFO_get_type(info.get()) != OSSL_STORE_INFO_CERT) continue;
    if (X509_STORE_add_cert(store, OSSL_STORE_INFO_get0_CERT(info.get())) == 1) ++count;
  }
  ERR_clear_error();
  if (count > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(uri, ": no certificate was found in it"));
}

}  // namespace

absl::Status AddTrust(const Trust& trust, X509_STORE* store) {
  if (!trust.file.empty() && AddPem(trust.file.text, store) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(trust.file.name, ": it has no certificate in PEM"));
  }
  if (!trust.folder.empty()) {
    if (absl::Status status = AddFolder(trust.folder, store); !status.ok()) return status;
  }
  return trust.store.empty() ? absl::OkStatus() : AddUri(trust.store, store);
}

absl::Status AddSystemTrust(X509_STORE* store) {
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (text.ok() && AddPem(*text, store) > 0) return absl::OkStatus();
  }
  return absl::NotFoundError("this system has no list of trusted authorities where one is expected");
}

bool ExpectHost(SSL* ssl, const std::string& host, bool verify) {
  X509_VERIFY_PARAM* const parameters = SSL_get0_param(ssl);
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
  ERR_clear_error();
  if (address != nullptr) {
    const bool good = !verify || X509_VERIFY_PARAM_set1_ip(parameters, ASN1_STRING_get0_data(address),
                                                           static_cast<size_t>(ASN1_STRING_length(address))) == 1;
    ASN1_OCTET_STRING_free(address);
    return good;
  }
  if (verify) {
    X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_host(parameters, host.data(), host.size()) != 1) return false;
  }
  return SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

std::string VerifyFailure(const SSL* ssl) {
  const long result = SSL_get_verify_result(ssl);  // NOLINT: OpenSSL's type
  return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
}

}  // namespace sluice::tls
