#include "protocols/upstream/parent_chain.h"

#include <sys/random.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace sluice::upstream {
namespace {

uint64_t Mix(uint64_t x) {  // the last step of MurmurHash3
  x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

// What a parent is known by to those who stick to it: its place, not its line, so that a reload moves nobody.
uint64_t IdentityOf(const Parent& parent) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : parent.ToString()) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

const Parent* DrawByWeight(const std::vector<const Parent*>& members, Random random) {
  uint32_t sum = 0;
  for (const Parent* member : members) sum += static_cast<uint32_t>(member->weight);
  if (sum == 0) return members[random(static_cast<uint32_t>(members.size()))];
  uint32_t at = random(sum);
  for (const Parent* member : members) {
    if (at < static_cast<uint32_t>(member->weight)) return member;
    at -= static_cast<uint32_t>(member->weight);
  }
  return members.back();
}

// Weighted rendezvous hashing: the largest of -weight / ln(hash) wins.
const Parent* StickTo(const std::vector<const Parent*>& members, uint64_t sticky) {
  const Parent* best = nullptr;
  double best_score = 0;
  for (const Parent* member : members) {
    const uint64_t hash = Mix(sticky ^ Mix(IdentityOf(*member)));
    const double uniform = (static_cast<double>(hash >> 11) + 0.5) / 9007199254740992.0;  // 2^53
    const double score = -std::max(1, member->weight) / std::log(uniform);
    if (best == nullptr || score > best_score) {
      best = member;
      best_score = score;
    }
  }
  return best;
}

const Parent* DrawFrom(const std::vector<const Parent*>& members, const ChainFacts& facts, Random random) {
  return facts.sticky != 0 ? StickTo(members, facts.sticky) : DrawByWeight(members, random);
}

const Parent* DrawMember(const ParentList& list, const ParentList::Group& group, const ChainFacts& facts,
                         Random random) {
  std::vector<const Parent*> weighted, fallback;
  const Parent* soonest = nullptr;
  sys::MonotonicNanos soonest_at = 0;
  for (size_t i = group.first; i < group.end; ++i) {
    const Parent& parent = list.parents[i];
    const bool avoided = std::find(facts.avoid.begin(), facts.avoid.end(), &parent) != facts.avoid.end();
    const sys::MonotonicNanos paused_until = facts.paused_until(parent);
    if (!avoided && paused_until == 0) {
      (parent.weight > 0 ? weighted : fallback).push_back(&parent);
    } else if (!avoided && (soonest == nullptr || paused_until < soonest_at)) {
      soonest = &parent;
      soonest_at = paused_until;
    }
  }
  if (!weighted.empty()) return DrawFrom(weighted, facts, random);
  if (!fallback.empty()) return DrawFrom(fallback, facts, random);
  if (soonest != nullptr) return soonest;
  // All have failed for this request: once more, as if nothing had happened.
  for (size_t i = group.first; i < group.end; ++i) {
    if (list.parents[i].weight > 0) weighted.push_back(&list.parents[i]);
  }
  return DrawFrom(weighted, facts, random);
}

}  // namespace

uint32_t RandomBelow(uint32_t bound) {
  thread_local std::mt19937 generator = [] {
    uint32_t seed = 0;
    // Without entropy the address of a stack is as good as anything.
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
      seed = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&seed) >> 4);
    }
    return std::mt19937(seed);
  }();
  return std::uniform_int_distribution<uint32_t>(0, bound - 1)(generator);
}

std::vector<const Parent*> DrawChain(const ParentList& list, const ChainFacts& facts, Random random) {
  std::vector<const Parent*> chain;
  for (const ParentList::Group& group : list.groups) chain.push_back(DrawMember(list, group, facts, random));
  return chain;
}

Route RouteOf(const std::vector<const Parent*>& chain, Speaks speaks) {
  Route route;
  route.headers.push_back(0);
  for (const Parent* parent : chain) {
    switch (parent->type) {
      case ParentType::kSourceAddress:
        route.source = parent;
        break;
      case ParentType::kProxyHeader:
        route.headers.back() = parent->proxy_header_version;
        if (parent->has_place()) route.end = parent;
        break;
      case ParentType::kHttp:
      case ParentType::kRedirect:
        if (speaks == Speaks::kHttpRequest || (speaks == Speaks::kOther && parent->type == ParentType::kRedirect)) {
          route.end = parent;
          route.whole_requests = speaks == Speaks::kHttpRequest;
          break;
        }
        route.hops.push_back(parent);
        route.headers.push_back(0);
        break;
      case ParentType::kTcp:
        route.end = parent;
        break;
      case ParentType::kLocal:
        route.local = parent->local;
        break;
      case ParentType::kConnect:
      case ParentType::kSocks4:
      case ParentType::kSocks5:
        route.hops.push_back(parent);
        route.headers.push_back(0);
        break;
    }
  }
  return route;
}

Endpoint PlaceOf(const Parent& parent, const Endpoint& destination) {
  Endpoint place;
  place.host = parent.host_name;
  place.address = parent.address;
  if (!parent.has_place()) place = destination;
  place.port = parent.port != 0 ? parent.port : destination.port;
  if (place.address.is_unix()) place.port = 0;
  if (place.address.is_ip()) place.address.set_port(place.port);
  return place;
}

}  // namespace sluice::upstream
