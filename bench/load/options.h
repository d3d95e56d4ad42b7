#ifndef SLUICE_BENCH_LOAD_OPTIONS_H_
#define SLUICE_BENCH_LOAD_OPTIONS_H_

#include <netinet/in.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace sluice::bench {

// Ends the program: `loadtool: WHAT: strerror(errno)`, exit status 1.
[[noreturn]] void Fail(const std::string& what);
// Ends the program: `loadtool: WHAT`, exit status 2.
[[noreturn]] void FailUsage(const std::string& what);

// An IPv4 address and port from "IP:PORT"; FailUsage otherwise.
sockaddr_in ParseAddress(const std::string& text);

// A whole number in [min, max]; FailUsage, naming `name`, otherwise.
int64_t ParseInt(const std::string& name, const std::string& text, int64_t min, int64_t max);

// A command's --name=value arguments and the words that are none. An unknown name ends the program, with the known
// ones.
class Options {
 public:
  Options(int argc, char** argv, std::initializer_list<const char*> names);

  // Ends the program when the option is missing.
  sockaddr_in Address(const std::string& name) const;
  int64_t Int(const std::string& name, int64_t missing, int64_t min, int64_t max) const;
  double Seconds(const std::string& name, double missing) const;
  bool Has(const std::string& name) const { return values_.count(name) > 0; }
  std::string Text(const std::string& name) const;  // "" when missing
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> words_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_OPTIONS_H_
