#ifndef SLUICE_PROTOCOLS_SERVICE_METERING_H_
#define SLUICE_PROTOCOLS_SERVICE_METERING_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "protocols/access/limits/limit_set.h"
#include "protocols/accounting/counters/counter_keeper.h"
#include "protocols/accounting/counters/counter_store.h"
#include "protocols/service/snapshot.h"

namespace sluice::service {

// The limits of the configuration and what they have counted, over reloads and, where a counter file is kept, restarts.
//
// Main thread only; what it gives is thread-safe.
class Metering {
 public:
  // `say`: one line for the operator.
  explicit Metering(std::function<void(const std::string&)> say) : keeper_(&counters_, std::move(say)) {}

  // Reads the counter file of the configuration. What fails leaves everything as it was.
  absl::Status Prepare(const Snapshot& snapshot) { return keeper_.Load(snapshot.counters); }
  // The limits that count from now on; null: there are none. Sessions that hold earlier ones follow them.
  std::shared_ptr<const access::LimitSet> Commit(const Snapshot& snapshot);
  // Writes the counter file for the last time.
  void Stop() { keeper_.Stop(); }

 private:
  accounting::CounterStore counters_;
  accounting::CounterKeeper keeper_;
  access::LimitRegistry registry_{&counters_};
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_METERING_H_
