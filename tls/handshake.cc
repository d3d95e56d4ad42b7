#include "tls/handshake.h"

#include <cerrno>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tls/verify.h"

namespace sluice::tls {
namespace {

Established Failure(int error, std::string fault) { return {nullptr, error, std::move(fault)}; }

Established Run(Handle<SSL> ssl, int fd, sys::MonotonicNanos deadline, const sys::Cancellation* cancellation) {
  if (ssl == nullptr) return Failure(ENOMEM, "out of memory");
  auto engine = std::make_unique<RecordEngine>(std::move(ssl));
  for (;;) {
    // Before the bytes, which may be endless.
    if (sys::Clock::System().Now() >= deadline) return Failure(ETIMEDOUT, "the handshake took too long");
    const RecordEngine::Progress progress = engine->Handshake(fd);
    if (progress == RecordEngine::Progress::kDone) return {std::move(engine), 0, ""};
    if (progress == RecordEngine::Progress::kFailed) {
      if (engine->socket_error() != 0) return Failure(engine->socket_error(), engine->fault());
      if (engine->saw_end()) return Failure(EPROTO, "the connection ended in the handshake");
      const std::string why = VerifyFailure(engine->ssl());
      return Failure(EPROTO, why.empty() ? engine->fault() : absl::StrCat(engine->fault(), " (", why, ")"));
    }
    const sys::Direction direction =
        progress == RecordEngine::Progress::kWantsInput ? sys::Direction::kRead : sys::Direction::kWrite;
    const int error = sys::WaitUntilReady(fd, direction, deadline, cancellation);
    if (error != 0) return Failure(error, error == ETIMEDOUT ? "the handshake took too long" : "it was cut short");
    if (direction == sys::Direction::kWrite) engine->Flush(fd);
  }
}

}  // namespace

std::string Established::Description() const {
  const SSL* const ssl = engine->ssl();
  return absl::StrCat(SSL_get_version(ssl), " ", SSL_get_cipher_name(ssl),
                      SSL_session_reused(ssl) == 1 ? " resumed" : "");
}

std::string Established::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(engine->ssl(), &name, &size);
  return std::string(reinterpret_cast<const char*>(name), size);
}

Established Accept(const ServerContext& context, int fd, const std::vector<std::string>* protocols,
                   sys::MonotonicNanos deadline, const sys::Cancellation* cancellation) {
  return Run(context.NewSession(protocols), fd, deadline, cancellation);
}

Established Connect(const ClientContext& context, int fd, const std::string& host, const std::string& where,
                    sys::MonotonicNanos deadline, const sys::Cancellation* cancellation) {
  absl::StatusOr<Handle<SSL>> ssl = context.NewSession(host, where);
  if (!ssl.ok()) return Failure(EPROTO, std::string(ssl.status().message()));
  return Run(*std::move(ssl), fd, deadline, cancellation);
}

}  // namespace sluice::tls
