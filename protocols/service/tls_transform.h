#ifndef SLUICE_PROTOCOLS_SERVICE_TLS_TRANSFORM_H_
#define SLUICE_PROTOCOLS_SERVICE_TLS_TRANSFORM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "relay/transform.h"
#include "tls/record_engine.h"

namespace sluice::service {

// A TLS session as what stands between a leg and its bytes: relay and tls are siblings that do not know each other, and
// meet here.
//
// Thread-compatible.
class TlsTransform final : public relay::Transform {
 public:
  // Its handshake is over.
  explicit TlsTransform(std::unique_ptr<tls::RecordEngine> engine) : engine_(std::move(engine)) {}

  ReadResult Read(int fd, char* bytes, size_t size, bool short_means_empty) override {
    const tls::RecordEngine::ReadResult read = engine_->Read(fd, bytes, size, short_means_empty);
    return {read.bytes, read.drained};
  }
  int64_t Write(int fd, const char* bytes, size_t size) override { return engine_->Write(fd, bytes, size); }
  bool holds_output() const override { return engine_->holds_output(); }
  int Flush(int fd) override { return engine_->Flush(fd); }
  int End(int fd) override { return engine_->End(fd); }
  bool waits_for_room() const override { return engine_->waits_for_room(); }

 private:
  const std::unique_ptr<tls::RecordEngine> engine_;
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_TLS_TRANSFORM_H_
