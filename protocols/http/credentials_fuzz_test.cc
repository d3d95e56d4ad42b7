// Input: the value of a Proxy-Authorization field.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/http/credentials.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sluice::http::BasicCredentials;
  const absl::string_view value(reinterpret_cast<const char*>(data), size);
  BasicCredentials credentials;
  if (!sluice::http::ParseBasicCredentials(value, credentials)) return 0;
  // What was taken says the same when it is written again: there is one reading.
  if (credentials.user.empty() || absl::StrContains(credentials.user, ":")) abort();
  std::string encoded;
  absl::Base64Escape(absl::StrCat(credentials.user, ":", credentials.password), &encoded);
  BasicCredentials again;
  if (!sluice::http::ParseBasicCredentials(absl::StrCat("Basic ", encoded), again)) abort();
  if (again.user != credentials.user || again.password != credentials.password) abort();
  return 0;
}
