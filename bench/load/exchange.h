#ifndef SLUICE_BENCH_LOAD_EXCHANGE_H_
#define SLUICE_BENCH_LOAD_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/load/options.h"
#include "bench/load/route.h"

namespace sluice::bench {

// What every exchange of a load sends and gets. One of:
//   --request=BYTES (1024)       so many bytes of the pattern, the answer as long
//   --url=URL [--post=BYTES]     an HTTP request, see MakeRequest; the answer must be a 200 with a body of as many
//   bytes
//                                as the path says. --host=HOST:PORT is needed where the URL is only a path
struct Message {
  Message(const Options& options, bool close);

  std::string request;
  bool http = false;
  uint64_t answer_bytes = 0;  // of the body
};

// One client connection that sends a request and waits for the answer, again and again. Driven by edge-triggered
// events. Closes its socket when destroyed. Thread-compatible.
class Exchange {
 public:
  enum class Progress {
    kNothing,
    kConnected,  // ready for the first Send
    kAnswered,   // ready for the next Send
    kLast,       // answered, but the other side ends the connection now: Close is next
    kBroken,     // errno says why (0: the stream ended, or the answer was a wrong one); Close is next
  };

  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { Close(); }

  // Starts connecting and watches the socket, with this object as the event's pointer. False with errno if it cannot.
  // `route` must outlive the connection.
  bool Connect(int epoll, const Route& route);
  // Sends a request; kBroken or kNothing. `message` must outlive the exchange. REQUIRES: kConnected or kAnswered was
  // returned.
  Progress Send(const Message& message);
  // Handles the events that epoll reported.
  Progress Handle(uint32_t events);
  void Close();

  bool connected() const { return connected_; }
  bool open() const { return fd_ >= 0; }
  // After kBroken: whether the other side ended a kept connection before it answered anything of this request. A client
  // sends it again on a new one then (RFC 9112 section 9.3.1): no request has failed.
  bool stale() const { return message_ != nullptr && message_->http && answered_ && in_head_ && head_.empty(); }

  // For the user: when the measured interval began.
  uint64_t started_nanos = 0;

 private:
  Progress SendRest();
  Progress Receive();
  bool TakeHead(std::string_view text);

  Opening opening_;
  int fd_ = -1;
  bool connected_ = false;
  bool answered_ = false;  // an earlier request on this connection
  const Message* message_ = nullptr;
  size_t sent_ = 0;          // of the request
  bool in_head_ = false;     // of the answer
  std::string head_;         // its part that came so far
  bool until_end_ = false;   // the body ends with the connection
  bool last_ = false;        // the connection does with the body
  uint64_t unread_ = 0;      // bytes of the answer
  uint64_t body_bytes_ = 0;  // counted where until_end_
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_EXCHANGE_H_
