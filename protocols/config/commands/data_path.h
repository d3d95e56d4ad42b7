#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_DATA_PATH_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_DATA_PATH_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "relay/relay_options.h"

namespace sluice::config {

// The options that say how a session moves its bytes. The errors say what is wrong and what instead, without the word.
//
// Pure. Thread-safe.

// `[MODE][:MIN,STREAK,SMALL]` behind `-s`. MODE: bit 0 downloads, bit 1 uploads, bit 2 only where it pays; 7 when it is
// left out. Without the tuning, its defaults.
absl::Status ParseSplice(absl::string_view text, relay::SpliceOptions& splice);

// `TRAFF,NUM,DELAY` behind `-g`.
absl::Status ParseGrace(absl::string_view text, relay::GraceOptions& grace);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_DATA_PATH_H_
