#include "protocols/dns/hosts_file.h"

#include "absl/strings/str_split.h"
#include "protocols/dns/address_order.h"
#include "protocols/dns/host_name.h"

namespace sluice::dns {
namespace {

// False if any part of the line was not understood. An empty line is understood.
bool ParseLine(absl::string_view line, HostsTable& table) {
  line = line.substr(0, line.find('#'));
  bool understood = true;
  bool has_address = false;
  sys::SocketAddress address;
  for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t\r\f\v"), absl::SkipEmpty())) {
    if (has_address) {
      understood = table.Add(word, address) && understood;
      continue;
    }
    absl::StatusOr<sys::SocketAddress> parsed = sys::SocketAddress::ParseIp(word, 0);
    if (!parsed.ok()) return false;
    address = *parsed;
    has_address = true;
  }
  return understood;
}

}  // namespace

void HostAddresses::Add(const sys::SocketAddress& address) {
  if (address.is_any()) {
    never_resolves = empty();
    return;
  }
  std::vector<sys::SocketAddress>& list = address.family() == sys::AddressFamily::kIpv4 ? ipv4 : ipv6;
  if (list.size() < kMaxAddresses) {
    list.push_back(address);
    list.back().set_port(0);
  }
  never_resolves = false;
}

bool HostsTable::Add(absl::string_view name, const sys::SocketAddress& address) {
  if (!address.is_ip()) return false;
  absl::StatusOr<std::string> normal = NormalizeHostName(name);
  // A literal is never looked up here: nothing can redefine an address.
  if (!normal.ok() || AddressLiteral(*normal)) return false;
  names_[*std::move(normal)].Add(address);
  return true;
}

const HostAddresses* HostsTable::Find(absl::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

HostsTable ParseHosts(absl::string_view text, size_t* ignored_lines) {
  HostsTable table;
  size_t ignored = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!ParseLine(line, table)) ++ignored;
  }
  if (ignored_lines != nullptr) *ignored_lines = ignored;
  return table;
}

}  // namespace sluice::dns
