// The floor of a copying relay: recv and send through one 64 KB buffer, edge-triggered epoll, one thread.
//
//   floor_relay LISTEN_PORT ORIGIN_IP ORIGIN_PORT [LISTEN_IP]

#include <sys/socket.h>

#include <string>

#include "bench/floor/floor_loop.h"

namespace sluice::bench {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

class CopyMover {
 public:
  // What a blocked output left over; it has memory of its own only while there is something in it.
  struct Rest {
    bool empty() const { return bytes.empty(); }
    std::string bytes;
  };

  CopyMover() : buffer_(new char[kBufferBytes]) {}

  Moved Move(End<Rest>& from, End<Rest>& to) {
    if (!to.writable) return Moved::kWaiting;
    if (!from.rest.empty()) {
      ssize_t sent = Send(to, from.rest.bytes.data(), from.rest.bytes.size());
      if (sent < 0) return Moved::kBroken;
      from.rest.bytes.erase(0, sent);
      if (!from.rest.empty()) return Moved::kWaiting;
      from.rest.bytes.shrink_to_fit();
    }
    while (from.readable && to.writable) {
      ssize_t received = recv(from.fd, buffer_.get(), kBufferBytes, 0);
      if (received == 0) return Moved::kEnded;
      if (received < 0) {
        if (errno != EAGAIN) return Moved::kBroken;
        from.readable = false;
        break;
      }
      ssize_t sent = Send(to, buffer_.get(), received);
      if (sent < 0) return Moved::kBroken;
      if (sent < received) from.rest.bytes.assign(buffer_.get() + sent, received - sent);
      // A short read drained the socket: what comes later makes a new edge. That saves a recv a message.
      if (received < static_cast<ssize_t>(kBufferBytes) && !from.ending) from.readable = false;
    }
    return Moved::kWaiting;
  }

  void Release(Rest& rest) { rest.bytes = {}; }

 private:
  // What was sent, perhaps 0 or short, in which case `to` waits for an edge; -1 for a hard error.
  static ssize_t Send(End<Rest>& to, const char* bytes, size_t size) {
    ssize_t sent = send(to.fd, bytes, size, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(size)) return sent;
    if (sent < 0 && errno != EAGAIN) return -1;
    to.writable = false;
    return sent < 0 ? 0 : sent;
  }

  std::unique_ptr<char[]> buffer_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  sluice::bench::FloorLoop<sluice::bench::CopyMover>(sluice::bench::StartFloor(argc, argv), {}).Run();
}
