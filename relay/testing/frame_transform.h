#ifndef SLUICE_RELAY_TESTING_FRAME_TRANSFORM_H_
#define SLUICE_RELAY_TESTING_FRAME_TRANSFORM_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "relay/transform.h"

namespace sluice::relay::testing {

// A transform as TLS is one, without its secrets: bytes travel turned round (XOR 0x55) in frames of at most 16 KB, each
// behind its length in two bytes; an empty frame is the end. It reads ahead, keeps what the socket does not take, and
// takes nothing more meanwhile.
class FrameTransform final : public Transform {
 public:
  static constexpr size_t kFrameBytes = 16 * 1024;
  static constexpr int kTruncated = 103;  // ECONNABORTED

  ReadResult Read(int fd, char* bytes, size_t size, bool short_means_empty) override;
  int64_t Write(int fd, const char* bytes, size_t size) override;
  bool holds_output() const override { return !out_.empty(); }
  int Flush(int fd) override;
  int End(int fd) override;
  bool waits_for_room() const override { return false; }

  // What the far end sends and receives.
  static std::string Frames(absl::string_view bytes);
  static std::string EndFrame() { return std::string(2, '\0'); }
  // The content of whole frames; `ended`: the last one was the end.
  static std::string Content(absl::string_view frames, bool* ended = nullptr);

 private:
  // Moves from in_ to `bytes`.
  size_t Take(char* bytes, size_t size);

  std::string in_;   // as it came
  size_t left_ = 0;  // of the frame that in_ begins in the middle of
  std::string out_;
  bool ended_ = false;
};

}  // namespace sluice::relay::testing

#endif  // SLUICE_RELAY_TESTING_FRAME_TRANSFORM_H_
