#ifndef SLUICE_BENCH_LOAD_EXCHANGE_H_
#define SLUICE_BENCH_LOAD_EXCHANGE_H_

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>

namespace sluice::bench {

// One client connection that sends a request and waits for an answer of the same length, again and again. Driven by
// edge-triggered events. Closes its socket when destroyed. Thread-compatible.
class Exchange {
 public:
  enum class Progress {
    kNothing,
    kConnected,  // ready for the first Send
    kAnswered,   // ready for the next Send
    kBroken,     // errno says why (0: the stream ended); Close is next
  };

  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { Close(); }

  // Starts connecting and watches the socket, with this object as the event's pointer. False with errno if it cannot.
  bool Connect(int epoll, const sockaddr_in& address);
  // Sends a request of `bytes`; kBroken or kNothing. REQUIRES: kConnected or kAnswered was returned.
  Progress Send(size_t bytes);
  // Handles the events that epoll reported.
  Progress Handle(uint32_t events);
  void Close();

  bool connected() const { return connected_; }
  bool open() const { return fd_ >= 0; }

  // For the user: when the measured interval began.
  uint64_t started_nanos = 0;

 private:
  Progress SendRest();

  int fd_ = -1;
  bool connected_ = false;
  size_t unsent_ = 0;
  size_t unread_ = 0;
  uint64_t sent_ = 0;  // position in the pattern
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_EXCHANGE_H_
