#ifndef SLUICE_PROTOCOLS_CONFIG_BUILDER_STATE_H_
#define SLUICE_PROTOCOLS_CONFIG_BUILDER_STATE_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "protocols/access/rule.h"
#include "protocols/access/rule_set.h"
#include "protocols/auth/user_table.h"
#include "protocols/config/build_options.h"
#include "protocols/config/diagnostics.h"
#include "protocols/config/script.h"
#include "protocols/config/tls_settings.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// How far a configuration has been read. A configuration is a script: a setting counts for the services started below
// it, so a service command takes a copy of `settings`.
//
// Thread-compatible.
struct BuilderState {
  // All three must outlive it.
  BuilderState(const BuildOptions& options, Script& script, Diagnostics& diagnostics)
      : options(options), script(script), diagnostics(diagnostics) {}

  const BuildOptions& options;
  Script& script;
  Diagnostics& diagnostics;

  // What the next service command starts from. Its `listen` is `internal` (kNone: never said).
  service::ServiceOptions settings;
  // `allow`, `deny`: the list as it stands, which the next service takes a compiled copy of. Null: it has changed
  // since.
  std::vector<access::Rule> rules;
  std::shared_ptr<const access::RuleSet> compiled_rules;
  // `users`: becomes Snapshot::users.
  std::shared_ptr<auth::UserTable> users = std::make_shared<auth::UserTable>();
  // `maxseg`: the value of TCP_MAXSEG where an option list names it without one. 0 = never said.
  int maxseg = 0;
  // `ssl_*`; of its contexts a service gets what it needs (ServiceOptions::tls).
  TlsSettings tls;
  // The result; the services so far.
  std::unique_ptr<service::Snapshot> snapshot = std::make_unique<service::Snapshot>();

  // Settings that no service has taken yet.
  struct Unused {
    std::string command;
    service::SourceLocation location;
  };
  std::vector<Unused> unused;

  // Services were written, even where an error kept them from the snapshot.
  bool service_seen = false;
  // Notes that are made once, however often their line comes.
  std::set<std::string> noted;
};

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_BUILDER_STATE_H_
