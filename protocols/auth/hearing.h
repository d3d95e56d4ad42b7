#ifndef SLUICE_PROTOCOLS_AUTH_HEARING_H_
#define SLUICE_PROTOCOLS_AUTH_HEARING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "protocols/access/request_facts.h"
#include "protocols/accounting/result_code.h"
#include "protocols/auth/gate.h"
#include "protocols/auth/identity.h"
#include "protocols/auth/judgement.h"
#include "sys/net/socket_address.h"

namespace sluice::auth {

// One request before the gate of its service, from what it claims to the verdict. What has been found out once (a
// password that was checked, the client's name) is not found out again, so that asking several times, first for the
// name of a target and then for its addresses, costs one check.
//
//   worker:            auth::Hearing hearing(gate, claim, began);
//                      judgement = hearing.TryJudge(facts, Stage::kBeforeResolution);
//   handshake thread:  if there is none: judgement = hearing.JudgeBlocking(facts, Stage::kBeforeResolution);
//   when allowed or kNeedsAddress: look the addresses up
//   either:            judgement = hearing.TryJudgeCandidates(facts, addresses), or the blocking one
//
// Used by one thread at a time; holds the client's password, so it does not outlive the handshake.
class Hearing final : private Prover {
 public:
  Hearing(std::shared_ptr<const Gate> gate, Claim claim, int64_t began_wall_nanos);
  ~Hearing() override;

  // `facts.user` is filled in here. Nothing: it takes a thread that may wait.
  std::optional<Judgement> TryJudge(const access::RequestFacts& facts, Stage stage);
  // Handshake thread only.
  Judgement JudgeBlocking(const access::RequestFacts& facts, Stage stage);

  // The verdict on a target whose addresses are known: each is judged, and those that are denied are taken out; so are
  // those that another rule lets in than the first one (it may have other parents). The verdict on what is left, or,
  // where nothing is, the denial of the first. An empty list is judged as a target without an address.
  std::optional<Judgement> TryJudgeCandidates(access::RequestFacts facts, std::vector<sys::SocketAddress>& candidates);
  // Handshake thread only.
  Judgement JudgeCandidatesBlocking(access::RequestFacts facts, std::vector<sys::SocketAddress>& candidates);

  // Who the client is, as far as any link of the chain can tell, whether it is needed or not: for what is judged later,
  // when nobody can wait (auth::JudgeKnown). No proof: none can.
  std::optional<Identity> TryEstablish(const access::RequestFacts& facts);
  // Handshake thread only.
  Identity EstablishBlocking(const access::RequestFacts& facts);
  // Why there is no proof: the highest code of the links.
  accounting::ResultCode failure() const { return failure_; }

  const Gate& gate() const { return *gate_; }
  const std::shared_ptr<const Gate>& shared_gate() const { return gate_; }
  const Claim& claim() const { return claim_; }

 private:
  std::optional<Proven> Prove(Method method, const access::RequestFacts& facts) override;
  void OnAllowed(Method method, const Identity& identity, const access::RequestFacts& facts) override;
  std::optional<Identity> Establish(const access::RequestFacts& facts);
  std::optional<Proven> ProvePassword();
  std::optional<Proven> ProveClientName(const sys::SocketAddress& client);
  Proven LookUp(const access::RequestFacts& facts) const;
  std::optional<AuthCache::Key> CacheKey(const access::RequestFacts& facts) const;
  std::optional<Judgement> JudgeCandidates(access::RequestFacts facts, std::vector<sys::SocketAddress>& candidates);

  const std::shared_ptr<const Gate> gate_;
  Claim claim_;
  const int64_t began_wall_nanos_;
  bool may_block_ = false;
  std::optional<Proven> password_;     // once it was checked
  std::optional<Proven> client_name_;  // once it was looked up
  accounting::ResultCode failure_;
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_HEARING_H_
