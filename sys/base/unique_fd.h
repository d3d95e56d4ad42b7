#ifndef SLUICE_SYS_BASE_UNIQUE_FD_H_
#define SLUICE_SYS_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace sluice::sys {

// Owns a file descriptor: closes it when destroyed. Move-only; moved from, it is empty. A parameter of type `int fd`
// elsewhere means the descriptor is borrowed for the call.
//
// close() is not retried on EINTR: Linux has released the number by then, and a second close could hit a descriptor
// that another thread has just been given.
//
// Thread-compatible.
class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes ownership of `fd`; any negative number means empty.
  explicit UniqueFd(int fd) : fd_(fd < 0 ? -1 : fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  // The descriptor, or -1 when empty. Stays owned by this object.
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  // Gives up ownership.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  // Closes the descriptor, if any.
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_BASE_UNIQUE_FD_H_
