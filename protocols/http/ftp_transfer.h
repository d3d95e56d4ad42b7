#ifndef SLUICE_PROTOCOLS_HTTP_FTP_TRANSFER_H_
#define SLUICE_PROTOCOLS_HTTP_FTP_TRANSFER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "protocols/accounting/traffic_record.h"
#include "protocols/http/body.h"
#include "protocols/http/http_service.h"
#include "protocols/http/message_length.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/upstream/ftp/control.h"
#include "relay/framer.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"

namespace sluice::http {

// The client of an ftp URL, as far as its transfer has to know.
struct FtpClient {
  sys::SocketAddress address;
  int minor_version = 1;
  bool keep_alive = false;
  BodyKind body = BodyKind::kNone;  // of an upload
  int64_t body_bytes = 0;
  std::string behind;  // what was read behind the head: the beginning of the upload, or the next request
};

// A file on its way, between the client and the data connection of an FTP server, on a worker. How the server says that
// it was whole is on the control connection, which a thread has to read: where the client cannot know by itself (an
// upload; a download whose size nobody said), it leaves the session when the data have ended, and a thread brings it
// the end, and back.
//
//   download, size known      the client is free after the last byte
//   download, size not known  chunked, or until the end for HTTP/1.0; the end only if the server says 2xx
//   upload                    its body without the chunks; 201 only if the server says 2xx
//
// A download that is cut ends in a reset, so that it does not look whole.
//
// Worker only, but before the hand-off the handshake thread's.
class FtpTransfer final : public relay::SessionObserver, public relay::Framer {
 public:
  static constexpr int64_t kUnknown = -1;

  // `bytes`: of a download, kUnknown: the server did not say; not looked at for an upload.
  FtpTransfer(std::shared_ptr<const HttpService> service, std::unique_ptr<service::ExchangeObserver> record,
              std::unique_ptr<upstream::FtpControl> control, FtpClient client, bool upload, int64_t bytes);

  // What the client is told before the data: its answer's head, or that it may go on with its upload.
  std::string Greeting() const;

  // relay::SessionObserver. The data connection exists already.
  void OnConnected(int, const sys::SocketAddress&) override {}
  void OnConnectFailed(const sys::SocketAddress&, int) override {}
  relay::Framer* framer() override { return this; }
  void OnProgress(const relay::SessionReport&) override {}
  using SessionObserver::OnEnd;
  void OnEnd(const relay::SessionReport& report) override;

  // relay::Framer.
  Step OnBytes(int direction, absl::string_view bytes, std::string& out) override;
  Next OnEnd(int direction, int error, int64_t undelivered_bytes) override;
  int64_t RawBytes(int direction) const override;
  Next OnRaw(int direction, int64_t bytes) override;
  bool Wants(int direction) const override;
  bool HoldsInput() const override { return upload_ && !body_over_ && !client_.behind.empty(); }
  std::string TakeHeld() override { return std::move(client_.behind); }
  std::string TakeAnswer() override { return {}; }
  bool Quiet() const override { return false; }
  int64_t QuietNanos() const override { return service_->exchange_options().idle_nanos; }
  bool UpstreamIsReusable() const override { return false; }
  bool UpstreamIsCut() const override { return upload_ && !body_over_; }
  const relay::RelayOptions* TunnelOptions() const override { return &service_->options().relay; }
  void OnUpstreamFree(relay::Worker*, sys::UniqueFd) override {}
  void OnReturned(relay::Worker* worker, relay::Returned returned) override;

 private:
  Step TakeUpload(absl::string_view bytes, std::string& out);
  Next DownloadOver();
  // What follows, `returned` having this object for its observer: handshake thread (may block), or the worker where
  // nothing blocks.
  void BringTheEnd(relay::Worker& worker, relay::Returned& returned);
  void EndDownload(relay::Worker& worker, relay::Returned& returned, const upstream::FtpAnswer& last);
  void EndUpload(relay::Worker& worker, relay::Returned& returned, const upstream::FtpAnswer& last);
  void Say(relay::Worker& worker, relay::Returned& returned, std::string bytes);
  void GoOn(relay::Worker& worker, relay::Returned& returned, std::string bytes);
  void Record(accounting::ResultCode result, int error);

  const std::shared_ptr<const HttpService> service_;
  const std::unique_ptr<service::ExchangeObserver> record_;
  const std::unique_ptr<upstream::FtpControl> control_;
  FtpClient client_;
  const bool upload_;
  const int64_t size_;
  Body body_;                // of an upload
  int64_t left_;             // of a download, where its size is known
  bool body_over_ = false;   // of an upload: all of it has come
  bool body_bad_ = false;    // or is malformed
  bool needs_word_ = false;  // whether it was whole the server has to say
  bool recorded_ = false;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_FTP_TRANSFER_H_
