#ifndef SLUICE_TLS_OPTIONS_H_
#define SLUICE_TLS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::tls {

// What a context is made of: plain texts, read already, with the name of the file that each came from (for messages).
//
// Thread-compatible.
struct Pem {
  std::string name;
  std::string text;

  bool empty() const { return name.empty(); }
};

// A certificate with its chain, leaf first, and its key. An empty key: it stands in the file of the certificate.
struct CertificateFiles {
  Pem chain;
  Pem key;
  // An OCSP response (RFC 6960) in DER that clients get with the certificate; empty: none.
  Pem staple;
};

// Who may vouch for the other side. What `folder` and `store` name is read when the context is made, so that a chroot
// or a change of the files makes no difference to a running service.
struct Trust {
  Pem file;
  std::string folder;  // every file in it that has certificates
  std::string store;   // a URI of OSSL_STORE

  bool empty() const { return file.empty() && folder.empty() && store.empty(); }
};

// Wire values of versions; 0: no bound of ours.
constexpr uint16_t kTls10 = 0x0301;
constexpr uint16_t kTls11 = 0x0302;
constexpr uint16_t kTls12 = 0x0303;
constexpr uint16_t kTls13 = 0x0304;

// What is negotiated. Empty lists are OpenSSL's own.
struct Parameters {
  std::string ciphersuites;       // TLS 1.3
  std::string cipher_list;        // TLS 1.2 and below
  uint16_t min_version = kTls12;  // below that, only who asks for it
  uint16_t max_version = 0;
};

struct ServerOptions {
  // Chosen by the name that the client asks for (SNI); the first one is for all who ask for none of them.
  std::vector<CertificateFiles> certificates;
  Trust trust;
  bool verify = false;  // clients must have a certificate
  Parameters parameters;
};

struct ClientOptions {
  CertificateFiles certificate;  // empty: we have none
  Trust trust;                   // empty, and `verify`: what the system trusts
  bool verify = false;
  Parameters parameters;
  std::string server_name;             // in place of the name of the upstream, for SNI and for the check
  std::vector<std::string> protocols;  // ALPN; empty: not offered
};

}  // namespace sluice::tls

#endif  // SLUICE_TLS_OPTIONS_H_
