#include "protocols/config/commands/access.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "protocols/access/request_facts.h"
#include "protocols/access/rule.h"
#include "protocols/access/rule_set.h"
#include "protocols/auth/auth_options.h"
#include "protocols/config/commands/rule_lists.h"
#include "protocols/config/values.h"
#include "sys/thread/clock.h"

namespace sluice::config {
namespace {

using auth::CacheField;
using auth::CacheFields;
using auth::Method;

enum class AuthStatus : uint8_t { kSupported, kNotBuilt, kRefused };

struct AuthType {
  absl::string_view name;
  AuthStatus status;
  Method method;
  absl::string_view note;
};

constexpr AuthType kAuthTypes[] = {
    {"none", AuthStatus::kSupported, Method::kNone, ""},
    {"iponly", AuthStatus::kSupported, Method::kIpOnly, ""},
    {"useronly", AuthStatus::kSupported, Method::kUserOnly, ""},
    {"strong", AuthStatus::kSupported, Method::kStrong, ""},
    {"dnsname", AuthStatus::kSupported, Method::kDnsName, ""},
    {"cache", AuthStatus::kSupported, Method::kCache, ""},
    {"cacheacl", AuthStatus::kSupported, Method::kCacheAcl, ""},
    {"radius", AuthStatus::kNotBuilt, Method::kRadius, ""},
    {"nbname", AuthStatus::kRefused, Method::kNone,
     "Windows clients no longer answer NetBIOS name queries, use iponly or strong"},
    {"pam", AuthStatus::kRefused, Method::kNone, "a static program cannot load PAM, use strong or radius"},
    {"windows", AuthStatus::kRefused, Method::kNone, "it needs Windows, use strong or radius"},
    {"ntlm", AuthStatus::kRefused, Method::kNone, "it is obsolete, use strong or radius"},
};

const AuthType* FindAuthType(absl::string_view name) {
  for (const AuthType& type : kAuthTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

// Null after an error.
const AuthType* ReadAuthType(CommandContext& context, const std::string& word) {
  const AuthType* type = FindAuthType(word);
  if (type == nullptr) {
    const absl::string_view near = Nearest(word, kAuthTypes, [](const AuthType& t) { return t.name; });
    context.Error(
        absl::StrCat(Quoted(word), " is unknown, the types are none, iponly, useronly, strong, dnsname, cache, ",
                     "cacheacl and radius, ",
                     near.empty() ? std::string("give one of them") : absl::StrCat("did you mean ", near, "?")));
  } else if (type->status == AuthStatus::kRefused) {
    context.Error(absl::StrCat(Quoted(word), " is not supported, ", type->note));
  } else if (type->status == AuthStatus::kNotBuilt) {
    context.Error(absl::StrCat(Quoted(word), " is not built yet, use strong"));
  } else {
    return type;
  }
  return nullptr;
}

struct CacheWord {
  absl::string_view name;
  CacheField field;
};

constexpr CacheWord kCacheWords[] = {
    {"ip", CacheField::kAddress},         {"user", CacheField::kUser},         {"pass", CacheField::kPassword},
    {"password", CacheField::kPassword},  {"limit", CacheField::kLimit},       {"acl", CacheField::kRules},
    {"ext", CacheField::kOutgoing},       {"dstaddr", CacheField::kTarget},    {"dstport", CacheField::kTargetPort},
    {"dsthost", CacheField::kTargetHost}, {"dstoper", CacheField::kOperation}, {"srvaddr", CacheField::kListener},
    {"srvport", CacheField::kListenPort},
};

bool ReadCacheFields(CommandContext& context, CacheFields& fields) {
  bool ok = true;
  fields = 0;
  for (absl::string_view word : absl::StrSplit(context.argument(1), ',')) {
    const CacheWord* found = nullptr;
    for (const CacheWord& known : kCacheWords) {
      if (known.name == word) found = &known;
    }
    if (found == nullptr) {
      const absl::string_view near = Nearest(word, kCacheWords, [](const CacheWord& w) { return w.name; });
      context.Error(absl::StrCat(
          Quoted(word), " is no field, they are ip, user, pass, limit, acl, ext, dstaddr, dstport, dsthost, dstoper, ",
          "srvaddr and srvport, ",
          near.empty() ? std::string("give one of them") : absl::StrCat("did you mean ", near, "?")));
      ok = false;
    } else {
      fields = auth::With(fields, found->field);
    }
  }
  return ok;
}

access::Rule* LastRule(CommandContext& context) {
  if (!context.state.rules.empty()) {
    context.state.compiled_rules.reset();
    return &context.state.rules.back();
  }
  context.Error("belongs to the allow or deny above it, and there is none, put it below one");
  return nullptr;
}

void AddRule(CommandContext& context, access::Rule::Action action) {
  access::Rule rule;
  rule.action = action;
  rule.location = context.location();
  if (!ReadRuleLists(context, 1, rule.conditions, rule.weight)) {
    // The place of the rule is kept, so that `nolog` and the like below it find the rule they are meant for.
    rule.conditions = {};
  }
  context.state.rules.push_back(std::move(rule));
  context.state.compiled_rules.reset();
}

// What the key lacks of what a rule reads, as "the rule at FILE:LINE limits X, add Y"; empty: nothing.
std::string MissingFromKey(CacheFields key, const access::Rule& rule) {
  const access::Conditions& c = rule.conditions;
  const struct {
    bool limited;
    absl::string_view what;
    CacheField field;
    absl::string_view word;
  } needs[] = {
      {!c.users.empty(), "users", CacheField::kUser, "user"},
      {!c.sources.empty(), "sources", CacheField::kAddress, "ip"},
      {c.limits_target_address(), "target addresses", CacheField::kTarget, "dstaddr"},
      {!c.target_names.empty(), "target names", CacheField::kTargetHost, "dsthost"},
      {!c.ports.empty(), "ports", CacheField::kTargetPort, "dstport"},
      {c.operations != 0, "operations", CacheField::kOperation, "dstoper"},
  };
  for (const auto& need : needs) {
    if (!need.limited || auth::Has(key, need.field)) continue;
    return absl::StrCat("the rule at ", rule.location.ToString(), " limits ", need.what, ", add ", need.word);
  }
  return "";
}

// One decision kept for several requests must be the right one for each of them.
void CheckCache(CommandContext& context, const service::ServiceOptions& options) {
  const auth::CacheOptions& cache = options.auth.cache;
  const CacheFields key = cache.fields;
  const access::SourceLocation& at = cache.location.line == 0 ? options.auth.location : cache.location;
  const auto error = [&](absl::string_view text) {
    context.state.diagnostics.Error(at, absl::StrCat("authcache: ", text));
  };
  // A service more makes it no more wrong.
  if (!context.state.noted.insert(absl::StrCat("authcache ", at.ToString(), " ", options.auth.location.ToString()))
           .second)
    return;
  const bool asks_password = options.auth.Uses(Method::kStrong) || options.auth.Uses(Method::kRadius);
  const bool by_address = auth::Has(key, CacheField::kAddress);
  const bool by_password = auth::Has(key, CacheField::kPassword);
  if (auth::Has(key, CacheField::kLimit) && (!by_address || !auth::Has(key, CacheField::kUser))) {
    error("limit holds a user to one address, for which the key needs both, add ip,user");
  } else if (asks_password && !by_password && !by_address) {
    error("the key has no pass, so that whoever gives a name would pass for its owner, add pass (or ip)");
  } else if (asks_password && !by_password) {
    context.state.diagnostics.Warning(
        at,
        "authcache: the key has ip and no pass, whoever comes from the address of a user is taken for that user for "
        "as long as the entry lives, add pass where clients share addresses");
  }
  if (!options.auth.Uses(Method::kCacheAcl)) return;
  for (const access::Rule& rule : options.rules->rules()) {
    const std::string missing = MissingFromKey(key, rule);
    if (missing.empty()) continue;
    error(absl::StrCat("the key is too narrow for cacheacl, ", missing, ", or use cache"));
    return;
  }
}

// `cache` with nothing behind it to fill it, and the like.
void CheckChain(CommandContext& context, const std::vector<Method>& chain) {
  for (size_t i = 0; i < chain.size(); ++i) {
    const bool last = i + 1 == chain.size();
    const bool caches = chain[i] == Method::kCache || chain[i] == Method::kCacheAcl;
    if (caches && last) {
      context.Error(absl::StrCat(auth::MethodName(chain[i]),
                                 " keeps what a type behind it has found out, and there is ",
                                 "none, so nobody would be let in, add strong behind it"));
    }
    if (chain[i] == Method::kNone && !last) {
      context.Warning("none lets everybody in, the types behind it are never asked, take one of them away");
    }
    if (chain[i] == Method::kDnsName) {
      context.Warning(
          "dnsname believes the name servers of the client's own network, use it for names in logs, not to keep people "
          "out");
    }
    for (size_t j = 0; j < i; ++j) {
      if (chain[j] == chain[i]) context.Warning(absl::StrCat(auth::MethodName(chain[i]), " stands there twice"));
    }
  }
}

}  // namespace

void HandleAuth(CommandContext& context) {
  std::vector<Method> chain;
  bool ok = true;
  for (int i = 1; i <= context.arguments(); ++i) {
    const AuthType* type = ReadAuthType(context, context.argument(i));
    if (type == nullptr) {
      ok = false;
    } else {
      chain.push_back(type->method);
    }
  }
  if (!ok) return;
  CheckChain(context, chain);
  context.state.settings.auth.chain = std::move(chain);
  context.state.settings.auth.location = context.location();
}

void HandleAuthcache(CommandContext& context) {
  auth::CacheOptions cache;
  cache.location = context.location();
  bool ok = ReadCacheFields(context, cache.fields);
  if (context.arguments() >= 2) {
    const auto seconds = context.Number(2, 1, 86400 * 365, "give for how many seconds an entry lives");
    ok = ok && seconds.has_value();
    cache.lifetime_nanos = seconds.value_or(0) * sys::kNanosPerSecond;
  }
  if (context.arguments() >= 3) {
    const auto entries = context.Number(3, 1, 16'777'216, "give how many entries there may be");
    ok = ok && entries.has_value();
    cache.most_entries = static_cast<int>(entries.value_or(0));
  }
  if (ok) context.state.settings.auth.cache = cache;
}

void HandleFlush(CommandContext& context) {
  context.state.rules.clear();
  context.state.compiled_rules.reset();
}

void HandleAllow(CommandContext& context) { AddRule(context, access::Rule::Action::kAllow); }
void HandleDeny(CommandContext& context) { AddRule(context, access::Rule::Action::kDeny); }

void HandleNolog(CommandContext& context) {
  if (access::Rule* rule = LastRule(context)) rule->log = false;
}

void HandleWeight(CommandContext& context) {
  const auto weight = context.Number(1, 0, 1'000'000, "a rule's weight is one");
  access::Rule* rule = LastRule(context);
  if (rule != nullptr && weight.has_value()) rule->weight = static_cast<int>(*weight);
}

void FinishAccess(CommandContext& context, service::ServiceOptions& options) {
  BuilderState& state = context.state;
  if (state.compiled_rules == nullptr) state.compiled_rules = access::RuleSet::Compile(state.rules);
  options.rules = state.compiled_rules;
  if (options.rules->reads().time) access::LocalTime::Prepare();
  if (options.auth.caches()) CheckCache(context, options);
  if (options.rules->empty()) return;
  const access::SourceLocation& first = options.rules->rules().front().location;
  if (options.auth.location.line == 0 && state.noted.insert("rules without auth").second) {
    state.diagnostics.Warning(first,
                              "there are rules and no auth above them, they are applied as under auth iponly, which "
                              "knows no users, write the auth that is meant");
  }
  if (options.auth.chain.front() == Method::kNone &&
      state.noted.insert(absl::StrCat("auth none ", options.auth.location.ToString())).second) {
    state.diagnostics.Warning(options.auth.location,
                              absl::StrCat("auth: none does not look at rules, and there are some (", first.ToString(),
                                           "), use iponly, or take the rules away (flush)"));
  }
}

}  // namespace sluice::config
