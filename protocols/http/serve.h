#ifndef SLUICE_PROTOCOLS_HTTP_SERVE_H_
#define SLUICE_PROTOCOLS_HTTP_SERVE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "protocols/http/head.h"
#include "protocols/http/http_service.h"
#include "relay/connection_budget.h"
#include "relay/transform.h"
#include "relay/worker.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::http {

// A client whose request has come: `bytes` begin with it and may go on behind its head.
struct RequestArrival {
  sys::UniqueFd client;
  sys::SocketAddress address;
  relay::Admission admission;
  std::string bytes;
  bool fresh_upstream = false;
  std::unique_ptr<relay::Transform> transform = nullptr;  // of a client that speaks TLS to us
};

// Makes the client's session, here or, where a name server has to be asked, by a thread of the handshake pool: a tunnel
// for CONNECT, exchanges for everything else, over an upstream that is idle if there is one. The head lies in `bytes`
// from `begin` to `end`. A request that is refused gets its answer, and its connection is closed.
//
// Worker only.
void Serve(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
           size_t begin, size_t end);

// What came is no head.
void RefuseHead(relay::Worker& worker, const HttpService& service, RequestArrival arrival, const HeadError& error);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_SERVE_H_
