#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/commands.h"
#include "bench/load/counters.h"
#include "bench/load/http.h"
#include "bench/load/options.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr uint64_t kMessageBytes = 1024;
constexpr size_t kReadBytes = 256 * 1024;

constexpr size_t kMostHeadBytes = 16 * 1024;

enum class Mode { kPingpong, kSource, kSink, kEcho, kIdle, kHttp };

// A listening socket or a connection: what an epoll event points to.
struct Watched {
  int fd;
  Mode mode;
  bool listener;
  uint64_t limit;  // of a source
};

struct Peer : Watched {
  Peer(int socket, const Watched& from) : Watched{socket, from.mode, false, from.limit} {}

  bool readable = false;
  bool writable = false;
  bool ending = false;                 // a short read is no proof that the socket is drained
  bool ended = false;                  // the client's stream ended
  bool finished = false;               // ours did
  uint64_t sent = 0;                   // position in the pattern
  uint64_t owed = 0;                   // bytes of the pattern that are to be sent
  uint64_t partial = 0;                // bytes of an incomplete request
  std::string echo;                    // to be sent before what is owed: bytes sent back, the head of an answer
  std::string head;                    // of the request that is coming, and what came after it
  uint64_t body = 0;                   // bytes of its body that are still to come
  std::optional<RequestHead> request;  // whose body is coming
  bool last = false;                   // ours ends the stream after what is to be sent
};

class Origin {
 public:
  explicit Origin(const Options& options)
      : counters_(OpenCounters(options.Text("counters"))), epoll_(NewEpoll()), scratch_(new char[kReadBytes]) {
    for (const std::string& word : options.words()) AddListener(word);
    if (options.words().empty()) FailUsage("origin: MODE=PORT is needed");
  }

  [[noreturn]] void Run() {
    counters_.started_nanos = NowNanos();
    counters_.phase = Phase::kRunning;
    puts("ready");
    fflush(stdout);
    epoll_event events[256];
    while (true) {
      int count = epoll_wait(epoll_, events, 256, -1);
      for (int i = 0; i < count; ++i) {
        auto* watched = static_cast<Watched*>(events[i].data.ptr);
        if (watched->listener) {
          AcceptAll(*watched);
        } else {
          Handle(static_cast<Peer*>(watched), events[i].events);
        }
      }
    }
  }

 private:
  void AddListener(const std::string& word) {
    static constexpr const char* kNames[] = {"pingpong", "source", "sink", "echo", "idle", "http"};
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    auto found = std::find(std::begin(kNames), std::end(kNames), name);
    if (equals == std::string::npos || found == std::end(kNames)) {
      FailUsage("'" + word + "' is not MODE=PORT with a mode of pingpong, source, sink, echo, idle, http");
    }
    size_t colon = std::min(word.find(':'), word.size());
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(
        static_cast<uint16_t>(ParseInt("port of " + name, word.substr(equals + 1, colon - equals - 1), 1, 65535)));
    auto* listener = new Watched{Listen(address), static_cast<Mode>(found - std::begin(kNames)), true, UINT64_MAX};
    if (colon < word.size()) {
      listener->limit = ParseInt("bytes of " + name, word.substr(colon + 1), 1, INT64_MAX);
    }
    Watch(epoll_, listener->fd, listener);
  }

  void AcceptAll(const Watched& listener) {
    for (int fd; (fd = Accept(listener.fd)) >= 0;) {
      auto* peer = new Peer(fd, listener);
      if (peer->mode == Mode::kSource) peer->owed = listener.limit;
      Counters::Add(counters_.connections, 1);
      Watch(epoll_, fd, peer);
    }
  }

  // An epoll set reports a descriptor once a batch, so the peer may be freed at once.
  void Handle(Peer* peer, uint32_t events) {
    if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) peer->ending = true;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP | EPOLLERR)) peer->readable = true;
    if (events & EPOLLOUT) peer->writable = true;
    if (Serve(*peer)) return;
    close(peer->fd);
    delete peer;
    Counters::Add(counters_.connections, -1);
  }

  // Reads and writes until the socket blocks; false if the connection is to be closed.
  bool Serve(Peer& peer) {
    while (true) {
      if (peer.writable && (peer.owed > 0 || !peer.echo.empty())) {
        if (!Write(peer)) return false;
      } else if (peer.mode == Mode::kHttp && peer.owed == 0 && peer.echo.empty() && !peer.head.empty() && !peer.last &&
                 HeadBytes(peer.head) > 0) {
        if (!TakeRequest(peer)) return false;
      } else if (peer.readable && !peer.ended && peer.echo.empty() && (peer.owed == 0 || peer.mode == Mode::kSource)) {
        if (!Read(peer)) return false;
      } else {
        break;
      }
    }
    bool all_sent = peer.owed == 0 && peer.echo.empty();
    if ((peer.mode == Mode::kSource || peer.last) && all_sent && !peer.finished) {
      peer.finished = true;
      shutdown(peer.fd, SHUT_WR);
    }
    return !peer.ended || !all_sent;
  }

  bool Read(Peer& peer) {
    bool drop = peer.mode == Mode::kSink || peer.mode == Mode::kSource;
    ssize_t received = recv(peer.fd, scratch_.get(), kReadBytes, drop ? MSG_TRUNC : 0);
    if (received < 0) {
      peer.readable = false;
      return errno == EAGAIN;
    }
    if (received == 0) {
      peer.ended = true;
      return true;
    }
    if (received < static_cast<ssize_t>(kReadBytes) && !peer.ending) peer.readable = false;
    Counters::Add(counters_.received_bytes, received);
    if (peer.mode == Mode::kEcho) peer.echo.assign(scratch_.get(), received);
    if (peer.mode == Mode::kHttp) return TakeBytes(peer, received);
    if (peer.mode == Mode::kPingpong) {
      peer.partial += received;
      peer.owed = peer.partial / kMessageBytes * kMessageBytes;
      Counters::Add(counters_.exchanges, peer.partial / kMessageBytes);
      peer.partial %= kMessageBytes;
    }
    return true;
  }

  bool Write(Peer& peer) {
    iovec pieces[2] = {{peer.echo.data(), peer.echo.size()},
                       {const_cast<char*>(PatternAt(peer.sent)), std::min<uint64_t>(peer.owed, kPatternBytes)}};
    msghdr message = {};
    message.msg_iov = peer.echo.empty() ? pieces + 1 : pieces;
    message.msg_iovlen = peer.echo.empty() || peer.owed == 0 ? 1 : 2;
    ssize_t sent = sendmsg(peer.fd, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      peer.writable = false;
      return errno == EAGAIN;
    }
    Counters::Add(counters_.sent_bytes, sent);
    size_t echoed = std::min<size_t>(sent, peer.echo.size());
    peer.echo.erase(0, echoed);
    sent -= echoed;
    peer.sent += sent;
    if (peer.owed != UINT64_MAX) peer.owed -= sent;
    return true;
  }

  // HTTP: drops bytes of a body and keeps the others, for they are a head; false if it does not end.
  bool TakeBytes(Peer& peer, size_t received) {
    size_t body = std::min<uint64_t>(peer.body, received);
    peer.body -= body;
    peer.head.append(scratch_.get() + body, received - body);
    AnswerWhole(peer);
    return peer.head.size() < kMostHeadBytes || HeadBytes(peer.head) > 0;
  }

  // Takes the request whose head is there; false if it is none.
  bool TakeRequest(Peer& peer) {
    size_t size = HeadBytes(peer.head);
    std::optional<RequestHead> request = ParseRequestHead(std::string_view(peer.head).substr(0, size));
    if (!request) return false;
    size_t body = std::min<uint64_t>(request->body_bytes, peer.head.size() - size);
    peer.head.erase(0, size + body);
    peer.body = request->body_bytes - body;
    peer.request = request;
    AnswerWhole(peer);
    return true;
  }

  // Owes the answer once the request's body is all there; each body begins the pattern anew.
  void AnswerWhole(Peer& peer) {
    if (!peer.request || peer.body > 0) return;
    Counters::Add(counters_.exchanges, 1);
    peer.echo = MakeAnswerHead(peer.request->answer_bytes, peer.request->close);
    peer.owed = peer.request->answer_bytes;
    peer.sent = 0;
    peer.last = peer.request->close;
    peer.request.reset();
  }

  Counters& counters_;
  int epoll_;
  std::unique_ptr<char[]> scratch_;
};

}  // namespace

int RunOrigin(int argc, char** argv) { Origin(Options(argc, argv, {"counters"})).Run(); }

}  // namespace sluice::bench
