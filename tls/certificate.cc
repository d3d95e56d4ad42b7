#include "tls/certificate.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tls/handle.h"

namespace sluice::tls {
namespace {

absl::Status Wrong(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
}

Handle<BIO> Reader(const std::string& text) {
  return Handle<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Asked for the password of a key: there is none, and nobody is asked.
int NoPassword(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

std::string TimeText(const ASN1_TIME* time) {
  Handle<BIO> out(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(out.get(), time);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);  // NOLINT: OpenSSL's type
  return std::string(data, static_cast<size_t>(size));
}

absl::Status CheckTime(const std::string& name, const X509* certificate) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    return Wrong(name, absl::StrCat("the certificate has expired (", TimeText(X509_get0_notAfter(certificate)), ")"));
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    return Wrong(name,
                 absl::StrCat("the certificate is not valid before ", TimeText(X509_get0_notBefore(certificate))));
  }
  return absl::OkStatus();
}

absl::Status UseChain(const Pem& pem, SSL_CTX* context) {
  const Handle<BIO> reader = Reader(pem.text);
  const Handle<X509> leaf(PEM_read_bio_X509_AUX(reader.get(), nullptr, nullptr, nullptr));
  if (leaf == nullptr) {
    ERR_clear_error();
    return Wrong(pem.name, "it has no certificate in PEM");
  }
  if (absl::Status status = CheckTime(pem.name, leaf.get()); !status.ok()) return status;
  if (SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return Wrong(pem.name, absl::StrCat("the certificate cannot be used: ", TakeErrorText()));
  }
  while (Handle<X509> issuer{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    if (SSL_CTX_add1_chain_cert(context, issuer.get()) != 1) {
      return Wrong(pem.name, absl::StrCat("its chain cannot be used: ", TakeErrorText()));
    }
  }
  ERR_clear_error();  // the end of the text is an error, too
  return absl::OkStatus();
}

}  // namespace

absl::Status UseCertificate(const CertificateFiles& files, SSL_CTX* context) {
  if (absl::Status status = UseChain(files.chain, context); !status.ok()) return status;
  const Pem& pem = files.key.empty() ? files.chain : files.key;
  const Handle<BIO> reader = Reader(pem.text);
  bool locked = false;
  const Handle<EVP_PKEY> key(PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassword, &locked));
  if (key == nullptr) {
    ERR_clear_error();
    if (locked) return Wrong(pem.name, "the key is under a password, which nobody is asked for, store it without");
    return Wrong(pem.name, files.key.empty() ? "it has no key beside its certificate" : "it has no key in PEM");
  }
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    ERR_clear_error();
    return Wrong(pem.name, absl::StrCat("the key is not that of the certificate in ", files.chain.name));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return Wrong(pem.name, absl::StrCat("the key cannot be used: ", TakeErrorText()));
  }
  return absl::OkStatus();
}

absl::Status CheckStaple(const Pem& staple) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(staple.text.data());
  OCSP_RESPONSE* const response = d2i_OCSP_RESPONSE(nullptr, &bytes, static_cast<long>(staple.text.size()));  // NOLINT
  ERR_clear_error();
  if (response == nullptr) return Wrong(staple.name, "it is no OCSP response in DER");
  const int status = OCSP_response_status(response);
  OCSP_RESPONSE_free(response);
  if (status == OCSP_RESPONSE_STATUS_SUCCESSFUL) return absl::OkStatus();
  return Wrong(staple.name, absl::StrCat("the OCSP response says ", OCSP_response_status_str(status)));
}

absl::Status UseParameters(const Parameters& parameters, SSL_CTX* context) {
  if (SSL_CTX_set_min_proto_version(context, parameters.min_version) != 1 ||
      SSL_CTX_set_max_proto_version(context, parameters.max_version) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("versions: ", TakeErrorText()));
  }
  if (parameters.max_version != 0 && parameters.min_version > parameters.max_version) {
    return absl::InvalidArgumentError("versions: the lowest is above the highest");
  }
  // The library has no suite for these versions at its level 1, since all of them use SHA-1.
  if (parameters.min_version != 0 && parameters.min_version < kTls12) SSL_CTX_set_security_level(context, 0);
  if (!parameters.cipher_list.empty() && SSL_CTX_set_cipher_list(context, parameters.cipher_list.c_str()) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("cipher list '", parameters.cipher_list, "': ", TakeErrorText()));
  }
  if (!parameters.ciphersuites.empty() && SSL_CTX_set_ciphersuites(context, parameters.ciphersuites.c_str()) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("cipher suites '", parameters.ciphersuites, "': ", TakeErrorText()));
  }
  return absl::OkStatus();
}

}  // namespace sluice::tls
