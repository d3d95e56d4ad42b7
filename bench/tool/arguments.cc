#include "bench/tool/arguments.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice::bench {

Arguments::Arguments(std::vector<std::string> words) {
  for (std::string& word : words) words_.push_back({std::move(word)});
}

void Arguments::Fault(const std::string& what) {
  if (fault_.ok()) fault_ = absl::InvalidArgumentError(what);
}

bool Arguments::Flag(absl::string_view name) {
  known_.push_back(absl::StrCat("--", name));
  bool found = false;
  for (Word& word : words_) {
    if (word.used || word.text != known_.back()) continue;
    word.used = found = true;
  }
  return found;
}

bool Arguments::Take(absl::string_view name, std::string* value) {
  const std::string option = absl::StrCat("--", name);
  known_.push_back(option);
  bool found = false;
  for (size_t i = 0; i < words_.size(); ++i) {
    Word& word = words_[i];
    const bool joined = absl::StartsWith(word.text, option + "=");
    if (word.used || (word.text != option && !joined)) continue;
    if (found) Fault(absl::StrCat(option, " is given twice"));
    word.used = found = true;
    if (joined) {
      *value = word.text.substr(option.size() + 1);
    } else if (i + 1 < words_.size() && !words_[i + 1].used) {
      *value = words_[++i].text;
      words_[i].used = true;
    } else {
      Fault(absl::StrCat(option, " needs a value"));
    }
  }
  return found;
}

std::string Arguments::Text(absl::string_view name, absl::string_view missing) {
  std::string value;
  return Take(name, &value) ? value : std::string(missing);
}

int64_t Arguments::Int(absl::string_view name, int64_t missing, int64_t min, int64_t max) {
  std::string text;
  if (!Take(name, &text)) return missing;
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= min && value <= max) return value;
  Fault(absl::StrCat("--", name, " ", text, ": a whole number from ", min, " to ", max, " is needed"));
  return missing;
}

double Arguments::Number(absl::string_view name, double missing, double min, double max) {
  std::string text;
  if (!Take(name, &text)) return missing;
  double value = 0;
  if (absl::SimpleAtod(text, &value) && value >= min && value <= max) return value;
  Fault(absl::StrCat("--", name, " ", text, ": a number from ", min, " to ", max, " is needed"));
  return missing;
}

sys::SocketAddress Arguments::Address(absl::string_view name) {
  std::string text;
  if (!Take(name, &text)) return {};
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon != std::string::npos && absl::SimpleAtoi(text.substr(colon + 1), &port) && port <= 65535) {
    absl::StatusOr<sys::SocketAddress> address =
        sys::SocketAddress::ParseIp(text.substr(0, colon), static_cast<uint16_t>(port));
    // An IPv6 address needs its brackets: the last group would be taken for a port.
    if (address.ok() && (address->family() == sys::AddressFamily::kIpv4 || text[0] == '[')) return *address;
  }
  Fault(absl::StrCat("--", name, " ", text, ": ADDRESS:PORT is needed, as in 127.0.0.1:3128 or [::1]:3128"));
  return {};
}

absl::Status Arguments::Finish() {
  for (const Word& word : words_) {
    if (word.used) continue;
    Fault(absl::StrCat("unknown argument: ", word.text, "; there are ", absl::StrJoin(known_, " ")));
  }
  return fault_;
}

}  // namespace sluice::bench
