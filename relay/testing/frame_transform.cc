#include "relay/testing/frame_transform.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace sluice::relay::testing {
namespace {

constexpr char kMask = 0x55;

size_t LengthAt(absl::string_view bytes) {
  return static_cast<size_t>(static_cast<unsigned char>(bytes[0])) << 8 | static_cast<unsigned char>(bytes[1]);
}

}  // namespace

std::string FrameTransform::Frames(absl::string_view bytes) {
  std::string frames;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kFrameBytes);
    frames += static_cast<char>(size >> 8);
    frames += static_cast<char>(size & 0xff);
    for (const char c : bytes.substr(0, size)) frames += static_cast<char>(c ^ kMask);
    bytes.remove_prefix(size);
  }
  return frames;
}

std::string FrameTransform::Content(absl::string_view frames, bool* ended) {
  std::string content;
  if (ended != nullptr) *ended = false;
  while (frames.size() >= 2) {
    const size_t size = LengthAt(frames);
    if (frames.size() < 2 + size) break;
    if (size == 0 && ended != nullptr) *ended = true;
    for (const char c : frames.substr(2, size)) content += static_cast<char>(c ^ kMask);
    frames.remove_prefix(2 + size);
  }
  return content;
}

size_t FrameTransform::Take(char* bytes, size_t size) {
  size_t taken = 0;
  size_t at = 0;
  while (taken < size && !ended_) {
    if (left_ == 0) {
      if (in_.size() - at < 2) break;
      left_ = LengthAt(absl::string_view(in_).substr(at));
      at += 2;
      ended_ = left_ == 0;
      continue;
    }
    const size_t count = std::min({left_, size - taken, in_.size() - at});
    if (count == 0) break;
    for (size_t i = 0; i < count; ++i) bytes[taken + i] = static_cast<char>(in_[at + i] ^ kMask);
    taken += count;
    at += count;
    left_ -= count;
  }
  in_.erase(0, at);
  return taken;
}

Transform::ReadResult FrameTransform::Read(int fd, char* bytes, size_t size, bool short_means_empty) {
  size_t got = 0;
  for (;;) {
    got += Take(bytes + got, size - got);
    if (got == size) return {static_cast<int64_t>(got), false};
    if (ended_) return {static_cast<int64_t>(got), false};
    char ahead[40'000];
    const ssize_t count = recv(fd, ahead, sizeof ahead, 0);
    if (count > 0) {
      in_.append(ahead, static_cast<size_t>(count));
      if (static_cast<size_t>(count) < sizeof ahead && short_means_empty) {
        got += Take(bytes + got, size - got);
        if (got > 0) return {static_cast<int64_t>(got), got < size && !ended_};
        return {ended_ ? 0 : -EAGAIN};
      }
      continue;
    }
    if (got > 0) return {static_cast<int64_t>(got), count < 0 && errno == EAGAIN};
    return {count == 0 ? -kTruncated : -errno};
  }
}

int FrameTransform::Flush(int fd) {
  while (!out_.empty()) {
    const ssize_t sent = send(fd, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0) return -errno;
    out_.erase(0, static_cast<size_t>(sent));
  }
  return 0;
}

int64_t FrameTransform::Write(int fd, const char* bytes, size_t size) {
  if (const int held = Flush(fd); held != 0) return held;
  const size_t taken = std::min(size, 2 * kFrameBytes);
  out_ = Frames(absl::string_view(bytes, taken));
  const int sent = Flush(fd);
  return sent == 0 || sent == -EAGAIN ? static_cast<int64_t>(taken) : sent;
}

int FrameTransform::End(int fd) {
  out_ += EndFrame();
  return Flush(fd);
}

}  // namespace sluice::relay::testing
