#include "bench/load/options.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sluice::bench {

void Fail(const std::string& what) {
  fprintf(stderr, "loadtool: %s: %s\n", what.c_str(), strerror(errno));
  exit(1);
}

void FailUsage(const std::string& what) {
  fprintf(stderr, "loadtool: %s\n", what.c_str());
  exit(2);
}

int64_t ParseInt(const std::string& name, const std::string& text, int64_t min, int64_t max) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    FailUsage(name + ": '" + text + "' is not a number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

sockaddr_in ParseAddress(const std::string& text) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    FailUsage("'" + text + "' is not an IPv4 ADDRESS:PORT");
  }
  address.sin_port = htons(static_cast<uint16_t>(ParseInt("port", text.substr(colon + 1), 1, 65535)));
  return address;
}

Options::Options(int argc, char** argv, std::initializer_list<const char*> names) {
  for (int i = 0; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.rfind("--", 0) != 0) {
      words_.push_back(argument);
      continue;
    }
    size_t equals = std::min(argument.find('='), argument.size());
    std::string name = argument.substr(2, equals - 2);
    if (std::none_of(names.begin(), names.end(), [&](const char* known) { return name == known; })) {
      std::string known;
      for (const char* n : names) known += std::string(" --") + n + "=";
      FailUsage("'" + argument + "' is not an option of this command; it has" + known);
    }
    values_[name] = equals == argument.size() ? "" : argument.substr(equals + 1);
  }
}

std::string Options::Text(const std::string& name) const {
  auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

sockaddr_in Options::Address(const std::string& name) const {
  if (!values_.count(name)) FailUsage("--" + name + "=ADDRESS:PORT is needed");
  return ParseAddress(Text(name));
}

int64_t Options::Int(const std::string& name, int64_t missing, int64_t min, int64_t max) const {
  return values_.count(name) ? ParseInt("--" + name, Text(name), min, max) : missing;
}

double Options::Seconds(const std::string& name, double missing) const {
  if (!values_.count(name)) return missing;
  char* end;
  std::string text = Text(name);
  double value = strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= 3600)) {
    FailUsage("--" + name + ": '" + text + "' is not a number of seconds from 0 to 3600");
  }
  return value;
}

}  // namespace sluice::bench
