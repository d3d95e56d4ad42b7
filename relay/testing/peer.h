#ifndef SLUICE_RELAY_TESTING_PEER_H_
#define SLUICE_RELAY_TESTING_PEER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::relay::testing {

enum class SocketKind { kIpv4, kIpv6, kUnix };

inline constexpr SocketKind kSocketKinds[] = {SocketKind::kIpv4, SocketKind::kIpv6, SocketKind::kUnix};
std::string ToString(SocketKind kind);

// Two ends of one stream, both O_NONBLOCK. `dialed` is the end that called connect().
struct SocketPair {
  sys::UniqueFd dialed;
  sys::UniqueFd accepted;
};
// Dies (with a message) when the machine has no such socket.
SocketPair MakeSocketPair(SocketKind kind);

// A listener on loopback (a free port), or on a fresh unix path. Non-blocking.
struct TestListener {
  sys::UniqueFd fd;
  sys::SocketAddress address;
};
TestListener Listen(SocketKind kind, int backlog = 64);
// The next connection, or an invalid descriptor when none waits.
sys::UniqueFd Accept(const TestListener& listener);

// `count` bytes of a stream of their own for each seed; byte i is a function of (seed, i), so that any loss, doubling
// or mixing shows.
std::string Bytes(uint32_t seed, int64_t count, int64_t from = 0);

// The far end of a leg, as a script: what it is told to send goes out as the kernel takes it, what arrives is kept.
// Work() does both; nothing blocks.
class Peer {
 public:
  Peer() = default;
  explicit Peer(sys::UniqueFd fd) : fd_(std::move(fd)) {}

  void Send(absl::string_view bytes) { unsent_.append(bytes.data(), bytes.size()); }
  // One urgent byte, after everything sent so far has been taken by the kernel.
  void SendUrgent(char byte);
  // The end of its stream, after all that it was told to send.
  void Finish() { finish_ = true; }
  // Aborts at once: RST, or what comes nearest to it on a unix socket (close with unread input).
  void Reset();
  void Close() { fd_.reset(); }
  // A reader that stalls.
  void PauseReading(bool paused) { paused_ = paused; }
  // A paused reader takes at most so many bytes now.
  void Take(int64_t most_bytes);

  void Work();

  void LimitSendBuffer(int bytes);
  void LimitReceiveBuffer(int bytes);

  bool open() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  bool all_sent() const { return taken_ == unsent_.size(); }
  int64_t sent_bytes() const { return sent_bytes_; }  // taken by the kernel
  const std::string& received() const { return received_; }
  // How the stream towards it has ended.
  bool saw_end() const { return saw_end_; }
  bool saw_reset() const { return error_ != 0; }
  bool saw_either() const { return saw_end_ || error_ != 0; }
  int error() const { return error_; }

 private:
  void SendSome();

  sys::UniqueFd fd_;
  std::string unsent_;
  size_t taken_ = 0;  // of unsent_, by the kernel
  std::string received_;
  int64_t sent_bytes_ = 0;
  int error_ = 0;
  int send_error_ = 0;
  bool finish_ = false;
  bool finished_ = false;
  bool paused_ = false;
  bool saw_end_ = false;
};

}  // namespace sluice::relay::testing

#endif  // SLUICE_RELAY_TESTING_PEER_H_
