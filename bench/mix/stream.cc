#include "bench/mix/stream.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "sys/net/socket_options.h"

namespace sluice::bench::mix {

using Loop = sys::Loop;

int Stream::Connect(const sys::SocketAddress& address, Reactor::Handler& handler) {
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  sys::UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return -errno;
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 && errno != EINPROGRESS) {
    return -errno;
  }
  return Adopt(std::move(fd), handler);
}

int Stream::Adopt(sys::UniqueFd fd, Reactor::Handler& handler) {
  sys::SetNoDelay(fd.get(), true);
  const int64_t watch = reactor_.Watch(fd.get(), handler);
  if (watch < 0) return static_cast<int>(watch);
  fd_ = std::move(fd);
  watch_ = static_cast<Loop::WatchId>(watch);
  readable_ = writable_ = ending_ = closing_ = false;
  return 0;
}

void Stream::Note(uint16_t ready) {
  constexpr uint16_t kEnd = Loop::kReadHangUp | Loop::kHangUp | Loop::kError;
  if (ready & kEnd) ending_ = true;
  if (ready & (kEnd | Loop::kReadable)) readable_ = true;
  if (ready & (Loop::kWritable | Loop::kHangUp | Loop::kError)) writable_ = true;
}

int Stream::ConnectOutcome() {
  if (!writable_) return -EINPROGRESS;
  return -sys::PendingSocketError(fd_.get());
}

ssize_t Stream::Receive(char* out, size_t size) {
  if (!readable_) return -EAGAIN;
  const ssize_t got = ::recv(fd_.get(), out, size, 0);
  if (got < 0) {
    if (errno == EAGAIN) readable_ = false;
    return -errno;
  }
  if (static_cast<size_t>(got) < size && got > 0 && !ending_) readable_ = false;
  return got;
}

ssize_t Stream::Send(const iovec* pieces, int count) {
  if (!writable_) return -EAGAIN;
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = static_cast<size_t>(count);
  const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  if (sent >= 0) return sent;
  if (errno == EAGAIN) writable_ = false;
  return -errno;
}

ssize_t Stream::Send(absl::string_view bytes) {
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  return Send(&piece, 1);
}

void Stream::ShutWrite() { ::shutdown(fd_.get(), SHUT_WR); }

void Stream::Close() {
  if (!open()) return;
  closing_ = true;
  readable_ = writable_ = false;
  reactor_.Release(watch_);
}

void Stream::Released() {
  fd_.reset();
  closing_ = false;
}

}  // namespace sluice::bench::mix
