#ifndef SLUICE_PROTOCOLS_UPSTREAM_PARENT_CHAIN_H_
#define SLUICE_PROTOCOLS_UPSTREAM_PARENT_CHAIN_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "protocols/upstream/endpoint.h"
#include "protocols/upstream/parent_list.h"
#include "sys/thread/clock.h"

namespace sluice::upstream {

// A number from 0 to bound - 1.
using Random = absl::FunctionRef<uint32_t(uint32_t bound)>;
// Of the threads' own generators, seeded by the kernel: for weights, not for secrets. Thread-safe.
uint32_t RandomBelow(uint32_t bound);

struct ChainFacts {
  // When a parent that fails may be tried again (ParentHealth::PausedUntil).
  absl::FunctionRef<sys::MonotonicNanos(const Parent&)> paused_until;
  // Those that have failed for this very request: taken only where nobody else is left.
  const std::vector<const Parent*>& avoid;
  // Not 0: whoever has the same number gets the same parents, as long as these work. (Rendezvous hashing: a parent that
  // fails or comes back moves only its own clients.)
  uint64_t sticky = 0;
};

// One member of each group: by weight among those that work; else a fallback (weight 0) that works; else the one that
// has been left alone for the longest. Pure.
std::vector<const Parent*> DrawChain(const ParentList& list, const ChainFacts& facts, Random random);

// What the client's request is for the last of the chain.
enum class Speaks : uint8_t {
  kHttpRequest,  // a request that an HTTP proxy can be given as it is
  kHttpConnect,
  kOther,
};

// A chain, sorted out: whom to ask one after the other, and where it ends.
struct Route {
  const Parent* source = nullptr;  // `extip`; null: the service's own address
  std::vector<const Parent*> hops;
  // headers[i]: the version of the PROXY header that hops[i] is to be told before anything else; the one behind the
  // last hop is for who the chain ends at. 0: none.
  std::vector<uint8_t> headers;
  // Takes the place of the destination: `tcp`, `http`, `ha` with an address. Null: the destination itself.
  const Parent* end = nullptr;
  // The end is a proxy that is given whole requests.
  bool whole_requests = false;
  LocalService local = LocalService::kNone;

  // Nobody has to be asked and nothing said: the destination may be connected to as if there were no parent.
  bool is_direct() const { return hops.empty() && end == nullptr && headers.back() == 0; }
};

// Pure.
Route RouteOf(const std::vector<const Parent*>& chain, Speaks speaks);

// Where a parent is; what it leaves open is the destination's.
Endpoint PlaceOf(const Parent& parent, const Endpoint& destination);

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_PARENT_CHAIN_H_
