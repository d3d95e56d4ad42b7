// A hosts file, by whomever it was written.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "protocols/dns/hosts_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  size_t ignored_lines = 0;
  const sluice::dns::HostsTable table = sluice::dns::ParseHosts(text, &ignored_lines);
  // A name takes at least a byte and a blank; a line that is ignored at least a byte.
  if (table.size() > size / 2 || ignored_lines > size) std::abort();
  if (table.Find("127.0.0.1") != nullptr || table.Find("") != nullptr) std::abort();
  return 0;
}
