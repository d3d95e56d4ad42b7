#include "protocols/upstream/parent_list.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice::upstream {
namespace {

absl::Status Invalid(absl::string_view why) { return absl::InvalidArgumentError(why); }

}  // namespace

std::string Parent::ToString() const {
  std::string where;
  if (address.is_unix()) {
    where = address.ToString();
  } else if (address.family() == sys::AddressFamily::kIpv6) {
    where = absl::StrCat("[", address.IpText(), "]:", port);
  } else {
    where = absl::StrCat(host_name.empty() ? address.IpText() : host_name, ":", port);
  }
  return absl::StrCat(word, " ", where);
}

absl::Status ParentList::Append(Parent parent) {
  if (parents.size() == kMostParents) return Invalid(absl::StrCat("a rule has at most ", kMostParents, " parents"));
  const bool opens = groups.empty() || (groups.back().weight >= kGroupWeight && parent.weight > 0);
  if (opens && parent.weight == 0) {
    return Invalid(
        "weight 0 is for a parent that stands in when others have failed, and there is none above it, give "
        "it a weight");
  }
  if (opens) {
    const auto behind = [&](auto is) { return std::any_of(parents.begin(), parents.end(), is); };
    if (behind([](const Parent& p) { return p.is_last(); })) {
      return Invalid(absl::StrCat("nothing can be passed behind ", parents.back().ToString(),
                                  ", which is where the connection goes, put it last"));
    }
    if (parent.type == ParentType::kSourceAddress && behind([](const Parent& p) { return p.is_hop(); })) {
      return Invalid(
          "an address to connect from counts for the first connection, which a parent above it makes, put "
          "it first");
    }
    int hops = 0;
    for (const Group& group : groups) {
      hops += std::any_of(parents.begin() + static_cast<long>(group.first),
                          parents.begin() + static_cast<long>(group.end), [](const Parent& p) { return p.is_hop(); });
    }
    if (hops == kMostHops && (parent.is_hop() || parent.type == ParentType::kHttp)) {
      return Invalid(absl::StrCat("a chain has at most ", kMostHops, " parents, take one away"));
    }
    groups.push_back({parents.size(), parents.size(), 0});
  }
  Group& group = groups.back();
  if (group.weight + parent.weight > kGroupWeight) {
    return Invalid(absl::StrCat("the weights of a group come to 1000 (this one has ", group.weight, " already, and ",
                                parent.weight, " more), make them fit"));
  }
  group.weight += parent.weight;
  parents.push_back(std::move(parent));
  group.end = parents.size();
  return absl::OkStatus();
}

absl::Status ParentList::CheckWhole() const {
  if (groups.empty() || groups.back().weight == kGroupWeight) return absl::OkStatus();
  return Invalid(
      absl::StrCat("the weights of its group come to ", groups.back().weight,
                   " and not to 1000, so that some connections would pass nobody, give the rest to a parent"));
}

}  // namespace sluice::upstream
