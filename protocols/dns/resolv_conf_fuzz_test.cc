// A resolv.conf, by whomever it was written: every limit holds, and the plan made of it is one.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "protocols/dns/host_name.h"
#include "protocols/dns/resolv_conf.h"
#include "protocols/dns/server_plan.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::dns;
  const ResolvConf conf = ParseResolvConf(absl::string_view(reinterpret_cast<const char*>(data), size));
  Require(conf.name_servers.size() <= kMaxNameServers);
  Require(conf.search.domains.size() <= kMaxSearchDomains);
  Require(conf.search.ndots >= 0 && conf.search.ndots <= 15);
  for (const std::string& candidate : SearchCandidates("www.example", false, conf.search)) {
    Require(ValidateHostName(candidate).ok());
  }
  const ServerPlan plan = PlanOfResolvConf(conf);
  Require(!plan.servers.empty() && plan.tries >= 1 && plan.first_try_nanos > 0);
  Require(plan.total_nanos() <= int64_t{4 * 60} * 1'000'000'000);
  return 0;
}
