#ifndef SLUICE_PROTOCOLS_AUTH_AUTH_OPTIONS_H_
#define SLUICE_PROTOCOLS_AUTH_AUTH_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "protocols/access/source_location.h"
#include "sys/thread/clock.h"

namespace sluice::auth {

// One link of the chain that `auth` makes. Each finds out who the client is, then asks the rules.
enum class Method : uint8_t {
  kNone,      // lets everybody in without asking anything, not even the rules
  kIpOnly,    // the rules alone, as for a client without a name
  kUserOnly,  // a name, any password
  kDnsName,   // the client's host name, confirmed by its addresses
  kStrong,    // a name and its password, from `users`
  kCache,     // what a later link has found out before
  kCacheAcl,  // the same
  kRadius,    // a name and its password, as a RADIUS server judges them
};

// "strong": the word in `auth`.
const char* MethodName(Method method);

// What has been found out is kept under these (`authcache`): it holds for requests that are equal in all of them.
enum class CacheField : uint16_t {
  kAddress = 1 << 0,      // ip
  kUser = 1 << 1,         // user
  kPassword = 1 << 2,     // pass
  kLimit = 1 << 3,        // limit: no key; one address a user at a time
  kRules = 1 << 4,        // acl
  kOutgoing = 1 << 5,     // ext: no key; always kept
  kTarget = 1 << 6,       // dstaddr
  kTargetPort = 1 << 7,   // dstport
  kTargetHost = 1 << 8,   // dsthost
  kOperation = 1 << 9,    // dstoper
  kListener = 1 << 10,    // srvaddr
  kListenPort = 1 << 11,  // srvport
};
using CacheFields = uint16_t;

constexpr bool Has(CacheFields fields, CacheField field) { return (fields & static_cast<CacheFields>(field)) != 0; }
constexpr CacheFields With(CacheFields fields, CacheField field) {
  return static_cast<CacheFields>(fields | static_cast<CacheFields>(field));
}

struct CacheOptions {
  CacheFields fields = With(With(0, CacheField::kUser), CacheField::kPassword);
  int64_t lifetime_nanos = 600 * sys::kNanosPerSecond;
  int most_entries = 262144;
  access::SourceLocation location;  // line 0: never said

  friend bool operator==(const CacheOptions& a, const CacheOptions& b) {
    return a.fields == b.fields && a.lifetime_nanos == b.lifetime_nanos && a.most_entries == b.most_entries;
  }
};

// Who may use a service, before the rules: `auth` and `authcache` as they stood on its line.
struct AuthOptions {
  std::vector<Method> chain = {Method::kIpOnly};
  CacheOptions cache;
  access::SourceLocation location;  // of `auth`; line 0: never said

  bool Uses(Method method) const {
    for (const Method link : chain) {
      if (link == method) return true;
    }
    return false;
  }
  bool caches() const { return Uses(Method::kCache) || Uses(Method::kCacheAcl); }
  // Some link finds out more than what the client says of itself.
  bool verifies() const { return Uses(Method::kStrong) || Uses(Method::kRadius) || Uses(Method::kDnsName); }
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_AUTH_OPTIONS_H_
