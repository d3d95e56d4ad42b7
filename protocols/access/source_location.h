#ifndef SLUICE_PROTOCOLS_ACCESS_SOURCE_LOCATION_H_
#define SLUICE_PROTOCOLS_ACCESS_SOURCE_LOCATION_H_

#include <string>

namespace sluice::access {

// Where in the configuration something was said: for messages ("FILE:LINE"). Thread-compatible.
struct SourceLocation {
  std::string file;  // as written; "<embedded>" and "<stdin>" for the two that are no files
  int line = 0;

  std::string ToString() const { return file + ":" + std::to_string(line); }
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_SOURCE_LOCATION_H_
