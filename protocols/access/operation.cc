#include "protocols/access/operation.h"

namespace sluice::access {
namespace {

struct Name {
  absl::string_view name;
  OperationSet set;
};

constexpr OperationSet kAllHttp = SetOf(Operation::kHttpGet) | SetOf(Operation::kHttpPut) |
                                  SetOf(Operation::kHttpPost) | SetOf(Operation::kHttpHead) |
                                  SetOf(Operation::kHttpOther);
constexpr OperationSet kAllFtp =
    SetOf(Operation::kFtpGet) | SetOf(Operation::kFtpPut) | SetOf(Operation::kFtpList) | SetOf(Operation::kFtpData);

// The single ones first, in the order of the enumeration.
constexpr Name kNames[] = {
    {"CONNECT", SetOf(Operation::kConnect)},
    {"BIND", SetOf(Operation::kBind)},
    {"UDPASSOC", SetOf(Operation::kUdpAssociate)},
    {"ICMPASSOC", SetOf(Operation::kIcmpAssociate)},
    {"HTTP_GET", SetOf(Operation::kHttpGet)},
    {"HTTP_PUT", SetOf(Operation::kHttpPut)},
    {"HTTP_POST", SetOf(Operation::kHttpPost)},
    {"HTTP_HEAD", SetOf(Operation::kHttpHead)},
    {"HTTP_CONNECT", SetOf(Operation::kHttpConnect)},
    {"HTTP_OTHER", SetOf(Operation::kHttpOther)},
    {"FTP_GET", SetOf(Operation::kFtpGet)},
    {"FTP_PUT", SetOf(Operation::kFtpPut)},
    {"FTP_LIST", SetOf(Operation::kFtpList)},
    {"FTP_DATA", SetOf(Operation::kFtpData)},
    {"DNSRESOLVE", SetOf(Operation::kDnsResolve)},
    {"ADMIN", SetOf(Operation::kAdmin)},
    {"HTTP", kAllHttp},
    {"HTTPS", SetOf(Operation::kHttpConnect)},
    {"FTP", kAllFtp},
};

}  // namespace

const char* OperationName(Operation operation) { return kNames[static_cast<int>(operation)].name.data(); }

std::optional<OperationSet> ParseOperation(absl::string_view name) {
  for (const Name& known : kNames) {
    if (known.name == name) return known.set;
  }
  return std::nullopt;
}

}  // namespace sluice::access
