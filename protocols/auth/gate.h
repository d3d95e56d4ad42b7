#ifndef SLUICE_PROTOCOLS_AUTH_GATE_H_
#define SLUICE_PROTOCOLS_AUTH_GATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "protocols/access/own_address_book.h"
#include "protocols/access/request_facts.h"
#include "protocols/access/rule_set.h"
#include "protocols/accounting/result_code.h"
#include "protocols/auth/auth_cache.h"
#include "protocols/auth/auth_options.h"
#include "protocols/auth/identity.h"
#include "protocols/auth/judgement.h"
#include "protocols/auth/user_table.h"
#include "protocols/dns/resolver.h"
#include "sys/net/socket_address.h"
#include "sys/thread/mutex.h"

namespace sluice::auth {

// How one link of the chain goes about finding out who a client is. A request on its way has Hearing for that; a
// session at a reload, and `sluice explain`, know already, or assume.
class Prover {
 public:
  struct Proven {
    enum class Kind : uint8_t {
      kFailed,  // with `code`; the next link is asked
      kKnown,   // `identity`; the rules decide, for good
      kPassed,  // this link has nothing to say
      kOver,    // denied with `code`, whatever the others would say
    };
    Kind kind = Kind::kFailed;
    accounting::ResultCode code;
    Identity identity;
  };

  virtual ~Prover() = default;
  // Nothing: it takes a thread that may wait. Never asked about kNone and kIpOnly.
  virtual std::optional<Proven> Prove(Method method, const access::RequestFacts& facts) = 0;
  // The request is let in on the strength of what `method` has proven.
  virtual void OnAllowed(Method method, const Identity& identity, const access::RequestFacts& facts) {
    (void)method, (void)identity, (void)facts;
  }
};

// Whether the address of the target is still to come.
enum class Stage : uint8_t {
  kBeforeResolution,
  kFinal,
};

struct GateOptions {
  std::shared_ptr<const access::RuleSet> rules;  // null: none
  AuthOptions auth;
  std::shared_ptr<const UserTable> users;   // null: none
  std::shared_ptr<AuthCache> cache;         // for kCache, kCacheAcl
  std::shared_ptr<dns::Resolver> resolver;  // for kDnsName
  int64_t dns_nanos = 0;
  std::shared_ptr<const access::OwnAddressBook> own_addresses;  // null: only the ranges that every machine has
  sys::SocketAddress listener;
  bool force = true;  // `force`: a reload judges sessions anew
};

// Who may use one service, for what: its `auth` chain and its rules. Everything that decides goes through Walk(), so
// that a request, a session at a reload, and `sluice explain` are judged by the same code.
//
//   none      lets the request in; the rules are not asked
//   iponly    the rules decide as for a client without a name; a denial is not the end, the next link is asked
//   others    find out who it is; then the rules decide for good. What fails to leaves it to the next link.
//
// When no link is left, the highest code of all counts.
//
// Immutable; thread-safe.
class Gate {
 public:
  explicit Gate(GateOptions options);
  // One without rules that asks nobody anything.
  static const std::shared_ptr<const Gate>& OpenToAll();

  // Nothing: `prover` needs a thread that may wait. `began_wall_nanos`: when the connection began, which rules with
  // weekdays and times go by.
  std::optional<Judgement> Walk(Prover& prover, access::RequestFacts facts, Stage stage,
                                int64_t began_wall_nanos) const;

  // What the rules say, whoever `facts.user` is.
  access::Verdict Decide(access::RequestFacts facts, int64_t began_wall_nanos) const;

  // Everybody may, and nothing has to be asked.
  bool open() const { return open_; }
  const access::RuleSet& rules() const { return *options_.rules; }
  const GateOptions& options() const { return options_; }

 private:
  access::Verdict Ask(const access::RequestFacts& facts, Stage stage) const;
  // What rules read besides what the request says; the result keeps it alive.
  std::shared_ptr<const access::OwnAddresses> FillIn(access::RequestFacts& facts, int64_t began_wall_nanos) const;

  GateOptions options_;
  bool open_ = false;
};

// The gate of a service that counts now. It stays when a reload puts another one into it, so that a request which comes
// over an old connection is judged by the new rules.
//
// Thread-safe.
class CurrentGate {
 public:
  explicit CurrentGate(std::shared_ptr<const Gate> gate) { Set(std::move(gate)); }

  bool Is(const Gate& gate) const { return pointer_.load(std::memory_order_acquire) == &gate; }
  std::shared_ptr<const Gate> Get() const;
  void Set(std::shared_ptr<const Gate> gate);

 private:
  std::atomic<const Gate*> pointer_{nullptr};
  mutable sys::Mutex mutex_;  // held for a copy of the pointer; workers take it, after a reload
  std::shared_ptr<const Gate> gate_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_GATE_H_
