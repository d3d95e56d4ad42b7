#ifndef SLUICE_BENCH_LINK_EMULATOR_H_
#define SLUICE_BENCH_LINK_EMULATOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/link/link_model.h"
#include "bench/link/link_options.h"
#include "bench/link/packet_queue.h"
#include "bench/tool/reactor.h"
#include "sys/base/unique_fd.h"

namespace sluice::bench::link {

// A new TUN device (IP packets without a header before them; Documentation/networking/tuntap.rst) of the network
// namespace that the caller is in, with an MTU of kMtu; it goes when the descriptor is closed, wherever it was moved to
// meanwhile. Non-blocking, close-on-exec. Start-up only.
absl::StatusOr<sys::UniqueFd> MakeTun(const std::string& name);

// Carries packets between two devices. Thread-compatible.
class Emulator {
 public:
  static absl::StatusOr<std::unique_ptr<Emulator>> Create(Reactor& reactor, const EmulatorOptions& options);

  // Until the reactor is interrupted or `end`: OK. A device that was removed: an error.
  absl::Status Run(sys::MonotonicNanos end);

  struct Counts {
    int64_t arrived = 0;
    int64_t lost = 0;
    int64_t queue_full = 0;  // of its connection, or of all
    int64_t refused = 0;     // by the device it was to come out of, which is down, say
  };
  const Counts& counts(int direction) const { return ends_[direction].counts; }

 private:
  // Where packets enter: end 0 gives those of direction 0, which come out of end 1.
  struct End final : Reactor::Handler {
    End(Emulator& owner, int number, const LinkOptions& options) : emulator(owner), direction(number), link(options) {}
    void OnReady(uint16_t ready) override;
    void OnReleased() override {}

    Emulator& emulator;
    const int direction;
    LinkDirection link;
    sys::UniqueFd tun;
    Counts counts;
  };

  Emulator(Reactor& reactor, const LinkOptions& link);
  // The next packet of `end`: false when there is none.
  bool TakeOne(End& end);
  void DeliverDue();

  Reactor& reactor_;
  std::array<End, 2> ends_;
  PacketQueue under_way_;
  absl::Status trouble_;
};

}  // namespace sluice::bench::link

#endif  // SLUICE_BENCH_LINK_EMULATOR_H_
