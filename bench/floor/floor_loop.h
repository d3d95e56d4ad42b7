#ifndef SLUICE_BENCH_FLOOR_FLOOR_LOOP_H_
#define SLUICE_BENCH_FLOOR_FLOOR_LOOP_H_

#include <netinet/in.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

namespace sluice::bench {

// The floors are the least that a relay in user space can do: accept, connect to one fixed origin, move bytes, pass a
// half-close on, close. No policy, no log, no timers, no limits. A proxy is measured as a ratio to them, in the same
// run; what it costs above them is what its features cost.
//
// This header is what both floors share: one thread, one epoll set, edge-triggered, readiness remembered per end until
// EAGAIN. How bytes move is the Mover:
//
//   struct Mover {
//     struct Rest { bool empty() const; };   // bytes read from an end and not yet written to the other
//     Moved Move(End<Rest>& from, End<Rest>& to);
//     void Release(Rest& rest);              // the connection is over, whatever the rest still holds
//   };

enum class Moved {
  kWaiting,  // an edge on either end continues it
  kEnded,    // end of stream, and everything before it was written
  kBroken,   // a hard error: both ends are closed
};

template <typename Rest>
struct Connection;

// One socket of a connection.
template <typename Rest>
struct End {
  int fd = -1;
  bool readable = false;
  bool writable = false;
  bool ending = false;  // HUP, RDHUP or ERR was reported: a short read is no proof that the socket is drained
  bool ended = false;   // its end of stream was passed on
  Rest rest;            // of the direction that starts here
  End* other = nullptr;
  Connection<Rest>* connection = nullptr;
};

template <typename Rest>
struct Connection {
  End<Rest> client;
  End<Rest> upstream;
};

struct FloorOptions {
  sockaddr_in listen;
  sockaddr_in origin;
};

// Reads LISTEN_PORT ORIGIN_IP ORIGIN_PORT [LISTEN_IP]; explains and exits with 2 when they are wrong. Also ignores
// SIGPIPE (splice has no MSG_NOSIGNAL) and raises the limit of open files to what is allowed.
FloorOptions StartFloor(int argc, char** argv);

// A listening socket, level-triggered in `epoll` with a null pointer; exits with 1 when the address cannot be had.
int ListenAt(int epoll, const sockaddr_in& address);

// The next connection of the queue, non-blocking with TCP_NODELAY; -1 when there is none. Exits with 1 when descriptors
// run out: a floor that sheds would no longer be one.
int AcceptNext(int listener);

// Starts connecting; -1 on an immediate failure. Non-blocking with TCP_NODELAY.
int StartConnect(const sockaddr_in& address);

// Watches `fd` for everything, edge-triggered.
void Watch(int epoll, int fd, void* data);

template <typename Mover>
class FloorLoop {
 public:
  using Rest = typename Mover::Rest;

  FloorLoop(const FloorOptions& options, Mover mover)
      : mover_(std::move(mover)),
        origin_(options.origin),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        listener_(ListenAt(epoll_, options.listen)) {}

  // Never returns: a signal ends the program.
  [[noreturn]] void Run() {
    epoll_event events[256];
    while (true) {
      int count = epoll_wait(epoll_, events, 256, -1);
      for (int i = 0; i < count; ++i) {
        if (events[i].data.ptr == nullptr) {
          Accept();
        } else {
          Handle(*static_cast<End<Rest>*>(events[i].data.ptr), events[i].events);
        }
      }
      doomed_.clear();
    }
  }

 private:
  void Accept() {
    for (int client; (client = AcceptNext(listener_)) >= 0;) {
      int upstream = StartConnect(origin_);
      if (upstream < 0) {
        close(client);
        continue;
      }
      auto* connection = new Connection<Rest>;
      connection->client.fd = client;
      connection->client.other = &connection->upstream;
      connection->upstream.fd = upstream;
      connection->upstream.other = &connection->client;
      connection->client.connection = connection->upstream.connection = connection;
      Watch(epoll_, upstream, &connection->upstream);
      Watch(epoll_, client, &connection->client);
    }
  }

  void Handle(End<Rest>& end, uint32_t events) {
    if (end.fd < 0) return;  // closed earlier in this batch
    if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) end.ending = true;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP | EPOLLERR)) end.readable = true;
    if (events & EPOLLOUT) end.writable = true;
    if (!Pump(end)) return;
    End<Rest>& other = *end.other;
    if (end.writable && (other.readable || !other.rest.empty())) Pump(other);
  }

  // Returns false if the connection is gone.
  bool Pump(End<Rest>& from) {
    if (from.ended) return true;
    Moved moved = mover_.Move(from, *from.other);
    if (moved == Moved::kWaiting) return true;
    if (moved == Moved::kEnded) {
      from.ended = true;
      if (!from.other->ended && shutdown(from.other->fd, SHUT_WR) == 0) return true;
    }
    Close(*from.connection);
    return false;
  }

  void Close(Connection<Rest>& connection) {
    for (End<Rest>* end : {&connection.client, &connection.upstream}) {
      mover_.Release(end->rest);
      close(end->fd);
      end->fd = -1;
    }
    doomed_.emplace_back(&connection);
  }

  Mover mover_;
  sockaddr_in origin_;
  int epoll_;
  int listener_;
  std::vector<std::unique_ptr<Connection<Rest>>> doomed_;  // freed after the batch: it may hold more of their events
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_FLOOR_FLOOR_LOOP_H_
