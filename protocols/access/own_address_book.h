#ifndef SLUICE_PROTOCOLS_ACCESS_OWN_ADDRESS_BOOK_H_
#define SLUICE_PROTOCOLS_ACCESS_OWN_ADDRESS_BOOK_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "protocols/access/own_addresses.h"
#include "sys/thread/mutex.h"

namespace sluice::access {

// The addresses of this machine as of a moment ago: asked for once a second by a thread that may wait, read by workers
// for each request that a rule on `local` concerns.
//
// Thread-safe.
class OwnAddressBook {
 public:
  // Asks the kernel (getifaddrs, some 20 us). When it says nothing the last answer stays.
  void Refresh();
  std::shared_ptr<const OwnAddresses> Get() const;

 private:
  mutable sys::Mutex mutex_;  // held for a copy of the pointer; workers take it
  std::shared_ptr<const OwnAddresses> addresses_ ABSL_GUARDED_BY(mutex_) = std::make_shared<const OwnAddresses>();
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_OWN_ADDRESS_BOOK_H_
