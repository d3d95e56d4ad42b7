#include "protocols/dns/resolv_conf.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "protocols/dns/host_name.h"

namespace sluice::dns {
namespace {

constexpr uint16_t kDnsPort = 53;

using Words = std::vector<absl::string_view>;

bool AddNameServer(const Words& words, ResolvConf& conf) {
  if (words.size() < 2) return false;
  absl::StatusOr<sys::SocketAddress> address = sys::SocketAddress::ParseIp(words[1], kDnsPort);
  if (!address.ok()) return false;
  // More than the limit are well-formed, but not used.
  if (conf.name_servers.size() < kMaxNameServers) conf.name_servers.push_back(*address);
  return true;
}

bool SetSearch(const Words& words, size_t count, ResolvConf& conf) {
  conf.search.domains.clear();
  bool understood = words.size() >= 2;
  for (size_t i = 1; i < std::min(words.size(), count + 1); ++i) {
    if (words[i] == ".") continue;  // the root: the name as it stands, which is tried anyway
    absl::StatusOr<std::string> domain = NormalizeHostName(words[i]);
    // An address is no domain.
    if (domain.ok() && !AddressLiteral(*domain)) {
      conf.search.domains.push_back(*std::move(domain));
    } else {
      understood = false;
    }
  }
  return understood;
}

// "name:number", clamped to [low, high]. False if `option` is not this one or carries no number.
bool NumberOption(absl::string_view option, absl::string_view name, int low, int high, int& value) {
  int number = 0;
  if (!absl::ConsumePrefix(&option, name) || !absl::ConsumePrefix(&option, ":")) return false;
  if (!absl::SimpleAtoi(option, &number)) return false;
  value = std::clamp(number, low, high);
  return true;
}

void SetOption(absl::string_view option, ResolvConf& conf) {
  // The limits are those of the C library (RES_MAXNDOTS, RES_MAXRETRANS, RES_MAXRETRY).
  if (NumberOption(option, "ndots", 0, 15, conf.search.ndots)) return;
  if (NumberOption(option, "timeout", 1, 30, conf.timeout_seconds)) return;
  if (NumberOption(option, "attempts", 1, 5, conf.attempts)) return;
  if (option == "rotate") conf.rotate = true;
  if (option == "use-vc") conf.use_tcp = true;
}

bool ParseLine(absl::string_view line, ResolvConf& conf) {
  line = line.substr(0, line.find_first_of("#;"));
  const Words words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty()) return true;
  if (words[0] == "nameserver") return AddNameServer(words, conf);
  if (words[0] == "search") return SetSearch(words, kMaxSearchDomains, conf);
  if (words[0] == "domain") return SetSearch(words, 1, conf);
  if (words[0] == "options") {
    for (size_t i = 1; i < words.size(); ++i) SetOption(words[i], conf);
  }
  return true;
}

}  // namespace

std::vector<std::string> SearchCandidates(absl::string_view name, bool absolute, const SearchRules& rules) {
  std::vector<std::string> candidates;
  const auto dots = std::count(name.begin(), name.end(), '.');
  const bool as_it_stands_first = absolute || dots >= rules.ndots;
  if (as_it_stands_first) candidates.emplace_back(name);
  if (absolute) return candidates;
  for (const std::string& domain : rules.domains) {
    if (name.size() + 1 + domain.size() > kMaxHostNameBytes) continue;
    candidates.push_back(absl::StrCat(name, ".", domain));
  }
  if (!as_it_stands_first) candidates.emplace_back(name);
  return candidates;
}

ResolvConf ParseResolvConf(absl::string_view text, size_t* ignored_lines) {
  ResolvConf conf;
  size_t ignored = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!ParseLine(line, conf)) ++ignored;
  }
  if (ignored_lines != nullptr) *ignored_lines = ignored;
  return conf;
}

}  // namespace sluice::dns
