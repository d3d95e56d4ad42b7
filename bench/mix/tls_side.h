#ifndef SLUICE_BENCH_MIX_TLS_SIDE_H_
#define SLUICE_BENCH_MIX_TLS_SIDE_H_

#include <openssl/ssl.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/mix/stream.h"

namespace sluice::bench::mix {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using SslContext = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;

// For the side that connects: no certificate is checked (a benchmark's is anybody's). `version`: "1.2", "1.3", or ""
// for either. Start-up only.
absl::StatusOr<SslContext> ConnectingContext(const std::string& version);
// For the side that accepts: with the PEM files, or, if both are "", a certificate of its own making (P-256, for a day,
// "mix.example"). Start-up only.
absl::StatusOr<SslContext> AcceptingContext(const std::string& version, const std::string& certificate_file,
                                            const std::string& key_file);

// One end of a wrapped connection: a stream, with TLS on it or without. Reads and writes are those of Stream, with the
// plain bytes; an end of stream without close_notify is an error. Thread-compatible.
class TlsSide {
 public:
  explicit TlsSide(Reactor& reactor) : stream_(reactor) {}

  Stream& stream() { return stream_; }
  // Puts TLS on the stream that was just opened. Without it the side is plain.
  bool StartTls(SSL_CTX* context, bool accepting);

  // As Stream::Receive and Stream::Send; -EPROTO where TLS went wrong.
  ssize_t Receive(char* out, size_t size);
  ssize_t Send(absl::string_view bytes);
  // Sends the end: 0, -EAGAIN (call it again after an event), or another -errno.
  int ShutWrite();

 private:
  ssize_t Result(int result);

  Stream stream_;
  std::unique_ptr<SSL, Freed<SSL_free>> ssl_;
};

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_TLS_SIDE_H_
