#include "protocols/http/request_reader.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/string_view.h"
#include "protocols/http/result.h"
#include "protocols/http/serve.h"
#include "protocols/http/tunnel.h"
#include "relay/handoff.h"

namespace sluice::http {

RequestReader::RequestReader(std::shared_ptr<const HttpService> service, sys::MonotonicNanos now, bool kept_alive,
                             std::unique_ptr<relay::Transform> transform)
    : service_(std::move(service)),
      deadline_(now + service_->options().timeouts.string_long),
      kept_alive_(kept_alive),
      transform_(std::move(transform)) {}

// At least a tick: 0 would mean that nothing is waited for.
int64_t RequestReader::first_byte_nanos() const {
  return std::max<int64_t>(deadline_ - sys::Clock::System().Now(), sys::kNanosPerMilli);
}

void RequestReader::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                               relay::Admission admission) {
  const bool first = bytes_.empty();
  const Heard heard = Listen(client.get());
  if (first) deadline_ = worker.now() + service_->options().timeouts.string_long;
  GoOn(worker, heard, std::move(client), std::move(client_address), std::move(admission));
}

// Takes what there is, up to the end of the head or somewhat behind it.
RequestReader::Heard RequestReader::Listen(int client) {
  char buffer[16 * 1024];
  for (;;) {
    const int64_t got = relay::ReceiveSome(client, transform_.get(), buffer, sizeof(buffer));
    if (got == -EAGAIN) return Heard::kPart;
    if (got <= 0) return Heard::kEnd;
    bytes_.append(buffer, static_cast<size_t>(got));
    const HeadScanner::State state = scanner_.Scan(bytes_);
    if (state != HeadScanner::State::kMore) return state == HeadScanner::State::kWhole ? Heard::kWhole : Heard::kBad;
  }
}

void RequestReader::Continue(relay::Worker& worker, ReturningClient client) {
  bytes_ = std::move(client.bytes);
  fresh_upstream_ = client.fresh_upstream;
  const HeadScanner::State state = scanner_.Scan(bytes_);
  Heard heard = state == HeadScanner::State::kMore    ? Heard::kPart
                : state == HeadScanner::State::kWhole ? Heard::kWhole
                                                      : Heard::kBad;
  transform_ = std::move(client.transform);
  // What it has read ahead, the socket will not tell of.
  if (heard == Heard::kPart && transform_ != nullptr) heard = Listen(client.fd.get());
  GoOn(worker, heard, std::move(client.fd), std::move(client.address), std::move(client.admission));
}

void RequestReader::GoOn(relay::Worker& worker, Heard heard, sys::UniqueFd client, sys::SocketAddress client_address,
                         relay::Admission admission) {
  switch (heard) {
    case Heard::kPart:
      return worker.Admit(shared_from_this(), std::move(client), std::move(client_address), std::move(admission));
    case Heard::kEnd:
      if (!bytes_.empty()) Tunnel(service_->shared_context(), client_address).Drop(result::kRequestCut, 0);
      if (transform_ != nullptr) transform_->End(client.get());
      client.reset();
      return admission.Return();
    case Heard::kWhole:
    case Heard::kBad:
      break;
  }
  RequestArrival arrival{std::move(client), std::move(client_address), std::move(admission),
                         std::move(bytes_), fresh_upstream_,           std::move(transform_)};
  if (heard == Heard::kBad) return RefuseHead(worker, *service_, std::move(arrival), scanner_.error());
  Serve(worker, service_, std::move(arrival), scanner_.leading_bytes(), scanner_.end());
}

void RequestReader::OnSilent(sys::UniqueFd client, sys::SocketAddress client_address, relay::Admission admission) {
  if (!bytes_.empty()) {
    Answer answer;
    answer.status = 408;
    answer.text = "The request did not come in time.";
    // A few hundred bytes fit into the buffer of a socket that nothing was sent on; if not, the client is none.
    const std::string bytes = ToBytes(answer);
    relay::SendSome(client.get(), transform_.get(), bytes.data(), bytes.size());
    Tunnel(service_->shared_context(), client_address).Drop(result::kRequestTimeout, ETIMEDOUT);
  }
  if (transform_ != nullptr) transform_->End(client.get());
  client.reset();
  admission.Return();
}

void ServeAgain(relay::Worker& worker, std::shared_ptr<const HttpService> service, ReturningClient client) {
  auto reader = std::make_shared<RequestReader>(std::move(service), worker.now(), /*kept_alive=*/true);
  reader->Continue(worker, std::move(client));
}

void SayAndServeAgain(relay::Worker& worker, std::shared_ptr<const HttpService> service, ReturningClient client,
                      absl::string_view bytes) {
  worker.role().AssertHeld();
  const int64_t sent =
      bytes.empty() ? 0 : relay::SendSome(client.fd.get(), client.transform.get(), bytes.data(), bytes.size());
  const bool held = client.transform != nullptr && client.transform->holds_output();
  if (sent == static_cast<int64_t>(bytes.size()) && !held) {
    return ServeAgain(worker, std::move(service), std::move(client));
  }
  relay::Handoff handoff;
  handoff.observer = std::make_unique<LastWord>(service->shared_context(),
                                                std::string(bytes.substr(sent > 0 ? static_cast<size_t>(sent) : 0)));
  handoff.client = std::move(client.fd);
  handoff.client_is_tcp = service->context().clients_are_tcp;
  handoff.client_transform = std::move(client.transform);
  handoff.admission = std::move(client.admission);
  handoff.options = &service->options().relay;
  worker.Adopt(std::move(handoff));
}

}  // namespace sluice::http
