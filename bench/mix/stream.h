#ifndef SLUICE_BENCH_MIX_STREAM_H_
#define SLUICE_BENCH_MIX_STREAM_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

#include "absl/strings/string_view.h"
#include "bench/tool/reactor.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::bench::mix {

// A watched TCP socket (non-blocking, TCP_NODELAY) that remembers its readiness until EAGAIN, as edge-triggered events
// want it. Owned by the handler of its events. Thread-compatible.
//
// Closing takes a turn: Close(), then the handler's OnReleased(), which calls Released(), and only then may the stream
// be opened anew or destroyed.
class Stream {
 public:
  explicit Stream(Reactor& reactor) : reactor_(reactor) {}

  // Starts connecting. 0 or -errno, after which it is closed already.
  int Connect(const sys::SocketAddress& address, Reactor::Handler& handler);
  // Takes an accepted socket. 0 or -errno.
  int Adopt(sys::UniqueFd fd, Reactor::Handler& handler);
  // Adds an event's bits.
  void Note(uint16_t ready);
  // 0 once connected, -EINPROGRESS, or why not.
  int ConnectOutcome();

  // Bytes; 0 at the end of the stream; -EAGAIN (an event will come) or another -errno.
  ssize_t Receive(char* out, size_t size);
  // Bytes; -EAGAIN (an event will come) or another -errno.
  ssize_t Send(const iovec* pieces, int count);
  ssize_t Send(absl::string_view bytes);
  void ShutWrite();

  bool open() const { return fd_.valid() && !closing_; }
  int fd() const { return fd_.get(); }
  // For who reads or writes the descriptor by other means.
  bool readable() const { return readable_; }
  bool writable() const { return writable_; }
  void SetUnreadable() { readable_ = false; }
  void SetUnwritable() { writable_ = false; }

  void Close();
  void Released();

 private:
  Reactor& reactor_;
  sys::UniqueFd fd_;
  sys::Loop::WatchId watch_ = 0;
  bool readable_ = false;
  bool writable_ = false;
  bool ending_ = false;  // a short read is no proof that nothing is left
  bool closing_ = false;
};

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_STREAM_H_
