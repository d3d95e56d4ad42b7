#ifndef SLUICE_PROTOCOLS_CONFIG_EMBEDDED_DEFAULT_H_
#define SLUICE_PROTOCOLS_CONFIG_EMBEDDED_DEFAULT_H_

namespace sluice::config {

// The configuration of a program that is started without one: an HTTP and a SOCKS proxy for this machine only, with
// records on standard output. Build it with BuildFromText(kEmbeddedDefaultName, kEmbeddedDefault, ...). Constants.
// Thread-safe.
constexpr char kEmbeddedDefaultName[] = "<embedded>";
constexpr char kEmbeddedDefault[] =
    "log\n"
    "proxy -p3128 -i127.0.0.1\n"
    "socks -p1080 -i127.0.0.1\n";

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_EMBEDDED_DEFAULT_H_
