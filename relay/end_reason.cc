#include "relay/end_reason.h"

namespace sluice::relay {

const char* EndCodeName(EndCode code) {
  switch (code) {
    case EndCode::kFinished:
      return "finished";
    case EndCode::kConnectFailed:
      return "connect_failed";
    case EndCode::kConnectTimeout:
      return "connect_timeout";
    case EndCode::kIdleTimeout:
      return "idle_timeout";
    case EndCode::kReadFailed:
      return "read_failed";
    case EndCode::kWriteFailed:
      return "write_failed";
    case EndCode::kUnsentData:
      return "unsent_data";
    case EndCode::kLimitReached:
      return "limit_reached";
    case EndCode::kShutDown:
      return "shut_down";
    case EndCode::kRevoked:
      return "revoked";
    case EndCode::kNoResources:
      return "no_resources";
  }
  return "?";
}

}  // namespace sluice::relay
