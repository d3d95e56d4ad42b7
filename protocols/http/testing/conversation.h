#ifndef SLUICE_PROTOCOLS_HTTP_TESTING_CONVERSATION_H_
#define SLUICE_PROTOCOLS_HTTP_TESTING_CONVERSATION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice::http {

// What a KeepaliveFramer made of one client and its origin, without sockets.
struct Heard {
  std::string upstream;           // what the origin was sent, over however many connections
  std::string client;             // what the client was sent
  std::vector<std::string> over;  // how each exchange ended
  bool tunnel = false;
  std::string tunnel_to_upstream, tunnel_to_client;
  bool aborted = false;
  bool refused = false;  // a request that no session serves: malformed, or for another host
};

// Plays a conversation: the client sends `from_client` as far as it is read, the origin gives answers[i] to the request
// number i; both in pieces of at most these sizes. Raw stretches go raw. The origin closes where an answer of its ends
// before the framer finds that it does. A client that leaves its session (a head in part, a connection that is no more
// good) gets a new one, like the service does it.
Heard Play(absl::string_view from_client, size_t client_piece, std::vector<std::string> answers, size_t upstream_piece);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_TESTING_CONVERSATION_H_
