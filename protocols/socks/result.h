#ifndef SLUICE_PROTOCOLS_SOCKS_RESULT_H_
#define SLUICE_PROTOCOLS_SOCKS_RESULT_H_

#include "protocols/accounting/result_code.h"
#include "protocols/socks/wire.h"

namespace sluice::socks {

// What access records say of an exchange that ended in its SOCKS handshake. The numbers are those of 3proxy where it
// tells the case apart.
namespace result {

using accounting::ResultCode;

inline constexpr ResultCode kBadVersion{401, "bad_version"};
inline constexpr ResultCode kNoMethod{402, "no_acceptable_method"};
inline constexpr ResultCode kUnknownCommand{407, "unknown_command"};
inline constexpr ResultCode kBadSubnegotiation{412, "bad_subnegotiation"};
inline constexpr ResultCode kNoDestination{421, "no_destination"};
inline constexpr ResultCode kHandshakeCut{441, "handshake_cut"};  // the client left in the middle
inline constexpr ResultCode kStringTooLong{443, "string_too_long"};
inline constexpr ResultCode kUnknownAddressType{997, "unknown_address_type"};

}  // namespace result

// Of a handshake that failed. `required`: the service insists on a name and a password.
inline accounting::ResultCode ResultOfFault(Fault fault, bool required) {
  switch (fault) {
    case Fault::kVersion:
      return result::kBadVersion;
    case Fault::kNoMethod:
      return required ? accounting::result::kUserRequired : result::kNoMethod;
    case Fault::kSubnegotiation:
      return result::kBadSubnegotiation;
    case Fault::kCredentials:
      return accounting::result::kUserRequired;
    case Fault::kCommand:
      return result::kUnknownCommand;
    case Fault::kAddressType:
      return result::kUnknownAddressType;
    case Fault::kName:
      return accounting::result::kNameNotResolved;
    case Fault::kTooLong:
      return result::kStringTooLong;
    case Fault::kNoDestination:
      return result::kNoDestination;
    case Fault::kNone:
      break;
  }
  return accounting::result::kInternal;
}

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_RESULT_H_
