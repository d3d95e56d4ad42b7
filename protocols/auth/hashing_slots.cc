#include "protocols/auth/hashing_slots.h"

#include "sys/thread/affinity.h"

namespace sluice::auth {

HashingSlots::Hold::Hold(HashingSlots& slots) : slots_(slots) {
  sys::MutexLock lock(slots_.mutex_);
  while (slots_.free_ == 0) slots_.freed_.Wait(slots_.mutex_);
  --slots_.free_;
}

HashingSlots::Hold::~Hold() {
  sys::MutexLock lock(slots_.mutex_);
  ++slots_.free_;
  slots_.freed_.NotifyOne();
}

HashingSlots& HashingSlots::OfProcess() {
  static HashingSlots slots(sys::MeasureCpuBudget().workers);
  return slots;
}

int HashingSlots::free() const {
  sys::MutexLock lock(mutex_);
  return free_;
}

}  // namespace sluice::auth
