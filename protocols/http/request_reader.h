#ifndef SLUICE_PROTOCOLS_HTTP_REQUEST_READER_H_
#define SLUICE_PROTOCOLS_HTTP_REQUEST_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "protocols/http/head.h"
#include "protocols/http/http_service.h"
#include "relay/acceptor.h"
#include "relay/connection_budget.h"
#include "relay/transform.h"
#include "relay/worker.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::http {

// A client that comes back from its session: with a request for another route, one that has come in part only, one that
// is to be sent again, or nothing, in which case it may begin one.
struct ReturningClient {
  sys::UniqueFd fd;
  sys::SocketAddress address;
  relay::Admission admission;
  std::string bytes;
  bool fresh_upstream = false;  // not one that has waited for its next request
  std::unique_ptr<relay::Transform> transform = nullptr;
};

// Worker only. SayAndServeAgain: gives the client `bytes` before; where it has no room for them now, they are its last.
void SayAndServeAgain(relay::Worker& worker, std::shared_ptr<const HttpService> service, ReturningClient client,
                      absl::string_view bytes);
void ServeAgain(relay::Worker& worker, std::shared_ptr<const HttpService> service, ReturningClient client);

// One client whose request is read: the worker takes what there is, and waits for more as it waits for first bytes, so
// that a client that drips its head costs a watch and a timer, no thread. A head has one deadline (STRING_LONG after
// its first byte), however its bytes come; and so has the wait for the first byte.
//
// Ownership: by whoever waits for the client's next bytes. Worker only.
class RequestReader final : public relay::AdmissionHandler, public std::enable_shared_from_this<RequestReader> {
 public:
  // `transform`: of a client that speaks TLS to us.
  RequestReader(std::shared_ptr<const HttpService> service, sys::MonotonicNanos now, bool kept_alive,
                std::unique_ptr<relay::Transform> transform = nullptr);

  // There are bytes to read.
  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override;
  // The deadline has passed.
  void OnSilent(sys::UniqueFd client, sys::SocketAddress client_address, relay::Admission admission) override;
  int64_t first_byte_nanos() const override;
  bool is_idle() const override { return kept_alive_ && bytes_.empty(); }
  relay::ConnectionBudget& budget() override { return *service_->context().budget; }

  // The client comes with bytes that were read already.
  void Continue(relay::Worker& worker, ReturningClient client);

 private:
  enum class Heard : uint8_t { kPart, kWhole, kBad, kEnd };

  Heard Listen(int client);
  void GoOn(relay::Worker& worker, Heard heard, sys::UniqueFd client, sys::SocketAddress client_address,
            relay::Admission admission);

  const std::shared_ptr<const HttpService> service_;
  sys::MonotonicNanos deadline_;
  const bool kept_alive_;  // it has been served before
  bool fresh_upstream_ = false;
  std::unique_ptr<relay::Transform> transform_;
  HeadScanner scanner_;
  std::string bytes_;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_REQUEST_READER_H_
