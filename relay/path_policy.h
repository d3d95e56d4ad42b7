#ifndef SLUICE_RELAY_PATH_POLICY_H_
#define SLUICE_RELAY_PATH_POLICY_H_

#include <algorithm>
#include <cstdint>

#include "relay/relay_options.h"

namespace sluice::relay {

// Which way the next bytes of one direction go: through the worker's buffer or through a pipe. Pure: bytes moved go in,
// the path comes out; flow.h keeps the four bytes of state.
//
// Copying wins for small messages (one system call fewer each way), splicing from about 16 KB a read on, where it
// halves the processor time. So an automatic direction starts by copying, turns to splicing after STREAK reads in a row
// of at least MIN bytes, and turns back after more than STREAK splices in a row of less than SMALL.
//
// A service with a small `-b` can never see a read of MIN bytes: there a full buffer counts as one.
//
// Thread-compatible.
class PathPolicy {
 public:
  enum class Mode : uint8_t { kNever, kAlways, kAutomatic };

  static Mode ModeOf(const SpliceOptions& options, bool from_client) {
    if (!(from_client ? options.from_client : options.from_upstream)) return Mode::kNever;
    return options.automatic ? Mode::kAutomatic : Mode::kAlways;
  }

  PathPolicy() = default;
  explicit PathPolicy(Mode mode) : mode_(mode), splicing_(mode == Mode::kAlways) {}

  bool splicing() const { return splicing_; }
  bool may_splice() const { return mode_ != Mode::kNever; }

  // A copying read gave `bytes`, out of at most `asked_bytes`.
  void OnCopied(const SpliceOptions& options, int64_t bytes, int64_t asked_bytes) {
    if (mode_ != Mode::kAutomatic || splicing_) return;  // splicing: it is copied for want of a pipe only
    if (bytes < std::min<int64_t>(options.min_bytes, asked_bytes)) {
      in_a_row_ = 0;
    } else if (++in_a_row_ >= options.streak) {
      splicing_ = true;
      in_a_row_ = 0;
    }
  }

  // A splice gave `bytes`.
  void OnSpliced(const SpliceOptions& options, int64_t bytes) {
    if (mode_ != Mode::kAutomatic) return;
    if (bytes >= options.small_bytes) {
      in_a_row_ = 0;
    } else if (++in_a_row_ > options.streak) {
      splicing_ = false;
      in_a_row_ = 0;
    }
  }

  // This leg cannot be spliced (EINVAL): copy from now on.
  void Refuse() {
    mode_ = Mode::kNever;
    splicing_ = false;
  }

 private:
  Mode mode_ = Mode::kNever;
  bool splicing_ = false;
  uint16_t in_a_row_ = 0;  // reads that speak for the other path; STREAK is at most 1000
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_PATH_POLICY_H_
