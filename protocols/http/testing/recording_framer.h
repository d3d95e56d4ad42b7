#ifndef SLUICE_PROTOCOLS_HTTP_TESTING_RECORDING_FRAMER_H_
#define SLUICE_PROTOCOLS_HTTP_TESTING_RECORDING_FRAMER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "protocols/http/keepalive_framer.h"
#include "sys/net/socket_address.h"

namespace sluice::http {

// A KeepaliveFramer for the route "o" that keeps how each exchange ended ("whole", "no answer", ...); what a client is
// told where it failed is "<no answer>" and so on.
class RecordingFramer final : public KeepaliveFramer {
 public:
  RecordingFramer(const ForwardingPolicy* policy, std::vector<std::string>* over)
      : KeepaliveFramer(policy), over_(over) {}

  int64_t QuietNanos() const override { return 1; }
  const relay::RelayOptions* TunnelOptions() const override { return nullptr; }
  void OnUpstreamFree(relay::Worker*, sys::UniqueFd) override {}
  void OnReturned(relay::Worker*, relay::Returned) override {}

 private:
  bool Serves(const RequestHead& request) const override {
    return request.method != Method::kConnect && request.authority.host == "o";
  }
  const sys::SocketAddress& ClientAddress() const override { return client_; }
  uint32_t Random() override { return 7; }
  void OnRequest(const RequestHead&) override {}
  std::string OnOver(Outcome outcome, const char*, int) override {
    static constexpr const char* kNames[] = {"whole",       "no answer", "timeout",     "client slow", "bad answer",
                                             "bad request", "cut",       "client gone", "again"};
    over_->push_back(kNames[static_cast<int>(outcome)]);
    return std::string("<") + kNames[static_cast<int>(outcome)] + ">";
  }

  const sys::SocketAddress client_ = sys::SocketAddress::Ipv4(0x7f000001, 1);
  std::vector<std::string>* const over_;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_TESTING_RECORDING_FRAMER_H_
