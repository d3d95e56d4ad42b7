#include "protocols/accounting/result_code.h"

#include <cerrno>

namespace sluice::accounting {

using relay::EndCode;
using relay::EndReason;
using relay::EndSide;

const char* PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kAccept:
      return "accept";
    case Phase::kHandshake:
      return "handshake";
    case Phase::kResolve:
      return "resolve";
    case Phase::kConnect:
      return "connect";
    case Phase::kRelay:
      return "relay";
  }
  return "unknown";
}

ResultCode ConnectResult(int error) {
  switch (error) {
    case ECONNREFUSED:
      return result::kConnectRefused;
    case ETIMEDOUT:
      return result::kConnectTimeout;
    case ECONNRESET:
    case ECONNABORTED:
      return result::kConnectReset;
    case EACCES:
    case EPERM:  // a local firewall, or the mode of a unix socket
      return result::kConnectNotPermitted;
    case ENETUNREACH:
    case ENETDOWN:
      return result::kNetworkUnreachable;
    case EHOSTUNREACH:
    case EHOSTDOWN:
      return result::kHostUnreachable;
    case EADDRNOTAVAIL:  // connect() found the ephemeral ports used up
      return result::kNoLocalPort;
    case EADDRINUSE:
      return result::kBindFailed;
    case ENOENT:
      return result::kNoSuchSocket;
    case EMFILE:
    case ENFILE:
      return result::kNoDescriptors;
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
      return result::kSocketFailed;
    case ENOMEM:
    case ENOBUFS:
      return result::kOutOfMemory;
    case EPROTO:  // the connection was there, and TLS on it failed
      return result::kUpstreamTlsFailed;
    default:
      return result::kConnectFailed;
  }
}

namespace {

ResultCode NoResources(int error) {
  if (error == EMFILE || error == ENFILE) return result::kNoDescriptors;
  return result::kOutOfMemory;
}

// Sockets do not say these two when they are read; TLS does (tls/record_engine.h).
ResultCode ReadFailed(EndSide side, int error) {
  if (side != EndSide::kUs && error == ECONNABORTED) {
    return side == EndSide::kClient ? result::kClientTlsTruncated : result::kUpstreamTlsTruncated;
  }
  if (side != EndSide::kUs && error == EBADMSG) {
    return side == EndSide::kClient ? result::kClientTlsFailed : result::kUpstreamTlsFailed;
  }
  if (side == EndSide::kClient) return result::kClientReadFailed;
  return side == EndSide::kUpstream ? result::kUpstreamReadFailed : result::kRelayFailed;
}

ResultCode WriteFailed(EndSide side) {
  if (side == EndSide::kClient) return result::kClientWriteFailed;
  return side == EndSide::kUpstream ? result::kUpstreamWriteFailed : result::kRelayFailed;
}

}  // namespace

ResultCode ResultOf(const EndReason& reason, Phase phase) {
  switch (reason.code) {
    case EndCode::kFinished:
      return result::kOk;
    case EndCode::kConnectFailed:
      return ConnectResult(reason.error);
    case EndCode::kConnectTimeout:
      return result::kConnectTimeout;
    case EndCode::kIdleTimeout:
      // Before the relay began nothing but the connect can have been waited for on the upstream's side.
      return phase == Phase::kConnect ? result::kConnectTimeout : result::kTimeout;
    case EndCode::kReadFailed:
      return ReadFailed(reason.side, reason.error);
    case EndCode::kWriteFailed:
      return WriteFailed(reason.side);
    case EndCode::kUnsentData:
      return result::kUnsentData;
    case EndCode::kLimitReached:
      return result::kLimitReached;
    case EndCode::kShutDown:
      return result::kShutdown;
    case EndCode::kRevoked:
      return result::kRevoked;
    case EndCode::kNoResources:
      return NoResources(reason.error);
  }
  return result::kInternal;
}

}  // namespace sluice::accounting
