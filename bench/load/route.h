#ifndef SLUICE_BENCH_LOAD_ROUTE_H_
#define SLUICE_BENCH_LOAD_ROUTE_H_

#include <netinet/in.h>

#include <cstdint>
#include <string>

#include "bench/load/options.h"

namespace sluice::bench {

// How the connections of a load get to the origin: straight to `address`, or through a tunnel that the proxy there is
// asked for.
struct Route {
  enum class Tunnel { kNone, kConnect, kSocks };

  // --connect=IP:PORT [--tunnel=connect|socks --target=IP:PORT]; ends the program for wrong ones.
  explicit Route(const Options& options);

  sockaddr_in address;
  Tunnel tunnel = Tunnel::kNone;
  sockaddr_in target = {};
  std::string target_text;
};

// The beginning of one connection, until the first byte of the load may go. Each step waits for the one before, as
// clients do: nothing is pipelined into a proxy that has not answered. Takes exactly the proxy's answer off the socket:
// what an origin that speaks first has sent stays there, and no further event tells of it. Thread-compatible.
class Opening {
 public:
  enum class Progress {
    kNothing,
    kOpen,
    kBroken,  // errno says why; 0: the proxy refused or ended the connection
  };

  // Starts a connection and returns its socket; -1 with errno if that fails.
  int Start(const Route& route);
  // REQUIRES: neither kOpen nor kBroken was returned since Start.
  Progress Handle(int fd, uint32_t events);

 private:
  enum class Step { kConnecting, kHttpAnswer, kSocksMethod, kSocksAnswer };

  Progress Send(int fd, const std::string& text, Step next);
  Progress Take(int fd);
  std::string SocksRequest() const;

  const Route* route_ = nullptr;
  Step step_ = Step::kConnecting;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_ROUTE_H_
