#include "protocols/http/ftp_transfer.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "protocols/http/chunked.h"
#include "protocols/http/ftp_answer.h"
#include "protocols/http/request_reader.h"
#include "protocols/http/result.h"
#include "protocols/http/tunnel.h"
#include "relay/handoff.h"
#include "relay/worker.h"
#include "sys/net/socket_options.h"
#include "sys/thread/clock.h"

namespace sluice::http {
namespace {

constexpr int kUp = 0, kDown = 1;

}  // namespace

FtpTransfer::FtpTransfer(std::shared_ptr<const HttpService> service, std::unique_ptr<service::ExchangeObserver> record,
                         std::unique_ptr<upstream::FtpControl> control, FtpClient client, bool upload, int64_t bytes)
    : service_(std::move(service)),
      record_(std::move(record)),
      control_(std::move(control)),
      client_(std::move(client)),
      upload_(upload),
      size_(bytes),
      body_(client_.body, client_.body_bytes, /*write_chunks=*/false),
      left_(bytes),
      body_over_(body_.over()) {
  // Without a size and without chunks only the end of the connection tells.
  if (!upload_ && size_ == kUnknown && client_.minor_version == 0) client_.keep_alive = false;
}

std::string FtpTransfer::Greeting() const {
  if (upload_) return {};
  std::string head = "HTTP/1.1 200 OK\r\n";
  if (size_ != kUnknown) {
    absl::StrAppend(&head, "Content-Length: ", size_, "\r\n");
  } else if (client_.minor_version > 0) {
    head.append("Transfer-Encoding: chunked\r\n");
  }
  if (!client_.keep_alive) {
    head.append("Connection: close\r\n");
  } else if (client_.minor_version == 0) {
    head.append("Connection: keep-alive\r\n");
  }
  return head + "\r\n";
}

// --- On the worker.

bool FtpTransfer::Wants(int direction) const { return direction == kDown || (upload_ && !body_over_); }

int64_t FtpTransfer::RawBytes(int direction) const {
  if (direction == kUp) return upload_ && client_.behind.empty() ? body_.RawBytes() : 0;
  return !upload_ && size_ != kUnknown ? left_ : 0;
}

relay::Framer::Next FtpTransfer::OnRaw(int direction, int64_t bytes) {
  accounting::TrafficRecord& record = record_->record();
  if (direction == kUp) {
    record.path_from_client = relay::DataPath::kSplice;
    record.bytes_from_client += bytes;
    if (body_.OnRaw(bytes) != Body::State::kOver) return Next::kGoOn;
    body_over_ = true;
    return Next::kEndUp;
  }
  record.path_from_upstream = relay::DataPath::kSplice;
  record.bytes_from_upstream += bytes;
  left_ -= bytes;
  return left_ == 0 ? DownloadOver() : Next::kGoOn;
}

relay::Framer::Step FtpTransfer::OnBytes(int direction, absl::string_view bytes, std::string& out) {
  if (direction == kUp) return TakeUpload(bytes, out);
  Step step;
  step.taken = bytes.size();
  if (upload_) return step;  // it has nothing to say there
  record_->record().bytes_from_upstream += static_cast<int64_t>(bytes.size());
  if (size_ == kUnknown) {
    if (client_.minor_version > 0) AppendChunkLine(static_cast<int64_t>(bytes.size()), out);
    out.append(bytes.data(), bytes.size());
    if (client_.minor_version > 0) out.append("\r\n");
    return step;
  }
  step.pass_bytes = static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(bytes.size())));
  left_ -= static_cast<int64_t>(step.pass_bytes);
  if (left_ == 0) step.next = DownloadOver();
  return step;
}

relay::Framer::Next FtpTransfer::DownloadOver() {
  Record({}, 0);
  control_->Quit();
  return client_.keep_alive ? Next::kReturn : Next::kClose;
}

relay::Framer::Step FtpTransfer::TakeUpload(absl::string_view bytes, std::string& out) {
  std::string behind = std::move(client_.behind);
  client_.behind.clear();
  const size_t given = bytes.size();
  const bool held = !behind.empty();
  if (held) {
    behind.append(bytes.data(), bytes.size());
    bytes = behind;
  }
  Step step;
  const Body::State state = body_.Take(bytes, /*may_pass=*/!held, step, out);
  record_->record().bytes_from_client += static_cast<int64_t>(step.taken);
  if (state == Body::State::kBad) {
    body_bad_ = true;
    step.next = Next::kReturn;
  } else if (state == Body::State::kOver) {
    body_over_ = true;
    client_.behind = std::string(bytes.substr(step.taken));
    step.taken = bytes.size();
    step.next = Next::kEndUp;
  }
  if (held) step.taken = given;
  return step;
}

relay::Framer::Next FtpTransfer::OnEnd(int direction, int error, int64_t) {
  if (direction == kUp) {
    Record(result::kRequestCut, error);
    return Next::kAbort;
  }
  if (upload_) {
    needs_word_ = error != ETIMEDOUT;
    return Next::kReturn;
  }
  if (size_ != kUnknown && left_ == 0 && error == 0) return DownloadOver();  // an empty file
  if (size_ != kUnknown || error != 0) {
    Record(error == ETIMEDOUT ? result::kAnswerTimeout : result::kAnswerCut, error);
    return Next::kAbort;
  }
  needs_word_ = true;
  return Next::kReturn;
}

void FtpTransfer::OnEnd(const relay::SessionReport& report) {
  record_->record().side = report.reason.side;
  Record(accounting::ResultOf(report.reason, accounting::Phase::kRelay), report.reason.error);
}

void FtpTransfer::Record(accounting::ResultCode result, int error) {
  if (std::exchange(recorded_, true)) return;
  accounting::TrafficRecord& record = record_->record();
  if (record.bytes_from_client > 0 && record.path_from_client == relay::DataPath::kNone) {
    record.path_from_client = relay::DataPath::kCopy;
  }
  if (record.bytes_from_upstream > 0 && record.path_from_upstream == relay::DataPath::kNone) {
    record.path_from_upstream = relay::DataPath::kCopy;
  }
  record_->Refuse(result, accounting::Phase::kRelay, error);
}

void FtpTransfer::OnReturned(relay::Worker* worker, relay::Returned returned) {
  if (worker == nullptr) return;
  if (!needs_word_) {
    if (!upload_) return GoOn(*worker, returned, std::string());
    Answer answer;
    answer.status = body_bad_ ? 400 : body_over_ ? 504 : 408;
    answer.text = body_bad_ ? "A malformed chunked body." : "The upload took too long.";
    Record(body_bad_ ? result::kBadRequest : body_over_ ? result::kAnswerTimeout : result::kRequestTimeout, 0);
    return Say(*worker, returned, ToBytes(answer));
  }
  auto shared = std::make_shared<relay::Returned>(std::move(returned));
  service::HandshakePool::Task task;
  task.client_address = client_.address.IpText();
  task.run = [this, worker, shared] { BringTheEnd(*worker, *shared); };
  task.shed = [this, shared] {
    sys::SetLingerReset(shared->client.get());
    Record(accounting::result::kOverloaded, 0);
  };
  service_->context().handshakes->Submit(std::move(task));
}

// --- Wherever it goes on. `returned` owns this object.

void FtpTransfer::BringTheEnd(relay::Worker& worker, relay::Returned& returned) {
  const upstream::FtpAnswer last =
      control_->Read(sys::Clock::System().Now() + service_->options().timeouts.string_short);
  control_->Quit();
  if (upload_) return EndUpload(worker, returned, last);
  EndDownload(worker, returned, last);
}

void FtpTransfer::EndDownload(relay::Worker& worker, relay::Returned& returned, const upstream::FtpAnswer& last) {
  Record(last.completed() ? accounting::ResultCode{} : result::kAnswerCut, last.error);
  if (!last.completed()) return sys::SetLingerReset(returned.client.get());
  const std::string end = client_.minor_version > 0 ? "0\r\n\r\n" : "";
  if (client_.keep_alive) return GoOn(worker, returned, end);
  Say(worker, returned, end);
}

void FtpTransfer::EndUpload(relay::Worker& worker, relay::Returned& returned, const upstream::FtpAnswer& last) {
  if (!last.completed() || !body_over_) {
    FtpRefusal refusal = RefusalOf(last, FtpStep::kStore, record_->record().host.view());
    if (last.completed()) refusal = {{}, result::kRequestCut};
    Record(refusal.result, last.error);
    return Say(worker, returned, ToBytes(refusal.answer));
  }
  Answer answer;
  answer.status = 201;
  answer.text = "The file is there.";
  answer.keep_alive = client_.keep_alive;
  answer.client_minor_version = client_.minor_version;
  Record({}, 0);
  if (answer.keep_alive) return GoOn(worker, returned, ToBytes(answer));
  Say(worker, returned, ToBytes(answer));
}

// And then the end.
void FtpTransfer::Say(relay::Worker& worker, relay::Returned& returned, std::string bytes) {
  relay::Handoff handoff;
  handoff.observer = std::make_unique<LastWord>(service_->shared_context(), std::move(bytes));
  handoff.client = std::move(returned.client);
  handoff.client_transform = std::move(returned.transform);
  handoff.client_is_tcp = service_->context().clients_are_tcp;
  handoff.admission = std::move(returned.admission);
  handoff.options = &service_->options().relay;
  worker.Post(std::move(handoff));
}

// And then the next request.
void FtpTransfer::GoOn(relay::Worker& worker, relay::Returned& returned, std::string bytes) {
  auto client = std::make_shared<ReturningClient>(
      ReturningClient{std::move(returned.client), client_.address, std::move(returned.admission),
                      std::move(client_.behind), false, std::move(returned.transform)});
  worker.Run([service = service_, client, bytes = std::move(bytes)](relay::Worker& worker) {
    SayAndServeAgain(worker, service, std::move(*client), bytes);
  });
}

}  // namespace sluice::http
