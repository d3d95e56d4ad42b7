#include "protocols/config/commands/dns.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "protocols/config/values.h"
#include "protocols/service/snapshot.h"
#include "sys/net/socket_address.h"

namespace sluice::config {
namespace {

constexpr size_t kMaxServers = 5;
constexpr int64_t kLeastCacheEntries = 256;
constexpr int64_t kMostCacheEntries = 16 << 20;
constexpr uint16_t kDnsPort = 53;

std::optional<int64_t> CacheEntries(CommandContext& context) {
  return context.Number(1, kLeastCacheEntries, kMostCacheEntries,
                        "it is how many names the cache holds, leave the line out for no cache");
}

void AddServer(CommandContext& context, size_t most, std::vector<service::DnsOptions::Server>& servers) {
  absl::string_view word = context.argument(1);
  const bool tcp = absl::ConsumeSuffix(&word, "/tcp");
  absl::StatusOr<sys::SocketAddress> address = ParseAddressAndPort(word, kDnsPort);
  if (!address.ok()) {
    context.Error(
        absl::StrCat(Quoted(context.argument(1)), " ", address.status().message(), ", with /tcp behind it or not"));
    return;
  }
  if (servers.size() >= most) {
    context.Error(absl::StrCat(Quoted(context.argument(1)), " is one too many, at most ", most,
                               most == 1 ? " name server is" : " name servers are", " asked, take some away"));
    return;
  }
  servers.push_back({*std::move(address), tcp});
}

}  // namespace

void HandleNserver(CommandContext& context) { AddServer(context, kMaxServers, context.state.snapshot->dns.servers); }

void HandleAuthnserver(CommandContext& context) { AddServer(context, 1, context.state.snapshot->dns.auth_servers); }

void HandleNscache(CommandContext& context) {
  if (const auto entries = CacheEntries(context)) {
    context.state.snapshot->dns.cache_ipv4_entries = static_cast<int>(*entries);
  }
}

void HandleNscache6(CommandContext& context) {
  if (const auto entries = CacheEntries(context)) {
    context.state.snapshot->dns.cache_ipv6_entries = static_cast<int>(*entries);
  }
}

void HandleNsrecord(CommandContext& context) {
  const std::string& name = context.argument(1);
  const absl::Status good_name = CheckHostName(name);
  if (!good_name.ok()) context.Error(absl::StrCat(Quoted(name), " ", good_name.message(), ", give a name"));
  absl::StatusOr<sys::SocketAddress> address = sys::SocketAddress::ParseIp(context.argument(2), 0);
  if (!address.ok()) {
    context.Error(
        absl::StrCat(Quoted(context.argument(2)),
                     " is no address, a record leads from a name to an address, give IPv4 or IPv6 (0.0.0.0: the name "
                     "never resolves)"));
  }
  if (!good_name.ok() || !address.ok()) return;
  service::DnsOptions::Record record{name, std::nullopt};
  if (!address->is_any()) record.address = *address;
  context.state.snapshot->dns.records.push_back(std::move(record));
}

}  // namespace sluice::config
