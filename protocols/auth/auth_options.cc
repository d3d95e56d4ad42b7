#include "protocols/auth/auth_options.h"

namespace sluice::auth {

const char* MethodName(Method method) {
  switch (method) {
    case Method::kNone:
      return "none";
    case Method::kIpOnly:
      return "iponly";
    case Method::kUserOnly:
      return "useronly";
    case Method::kDnsName:
      return "dnsname";
    case Method::kStrong:
      return "strong";
    case Method::kCache:
      return "cache";
    case Method::kCacheAcl:
      return "cacheacl";
    case Method::kRadius:
      return "radius";
  }
  return "?";
}

}  // namespace sluice::auth
