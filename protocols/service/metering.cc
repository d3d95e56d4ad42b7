#include "protocols/service/metering.h"

#include "sys/thread/clock.h"

namespace sluice::service {

std::shared_ptr<const access::LimitSet> Metering::Commit(const Snapshot& snapshot) {
  std::shared_ptr<const access::LimitSet> limits = registry_.Make(snapshot.limits);
  // A thread only where there is something for it to do.
  if (limits != nullptr || !snapshot.counters.path.empty()) {
    keeper_.Follow(snapshot.counters, sys::Clock::System().WallNanos() / sys::kNanosPerSecond);
  }
  return limits;
}

}  // namespace sluice::service
