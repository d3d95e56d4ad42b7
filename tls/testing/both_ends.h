#ifndef SLUICE_TLS_TESTING_BOTH_ENDS_H_
#define SLUICE_TLS_TESTING_BOTH_ENDS_H_

#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sys/base/unique_fd.h"
#include "tls/context.h"
#include "tls/options.h"
#include "tls/record_engine.h"

namespace sluice::tls::testing {

// A file of testdata/tls.
inline Pem TestFile(const std::string& name) {
  std::ifstream file("testdata/tls/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {name, std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>())};
}

inline CertificateFiles TestCertificate(const std::string& name) {
  return {TestFile(name + ".pem"), TestFile(name + ".key"), {}};
}

inline ServerOptions TestServer(const std::string& name = "server") {
  ServerOptions options;
  options.certificates.push_back(TestCertificate(name));
  return options;
}

inline ClientOptions TestClient() {
  ClientOptions options;
  options.trust.file = TestFile("ca.pem");
  options.verify = true;
  return options;
}

template <typename Context, typename Options>
std::shared_ptr<const Context> Make(const Options& options) {
  auto made = Context::Create(options);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *made : nullptr;
}

struct SocketPair {
  sys::UniqueFd a;
  sys::UniqueFd b;
};

// Non-blocking. `buffer_bytes` of each socket's send buffer; 0: the system's.
inline SocketPair MakePair(int buffer_bytes = 0) {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  for (const int fd : fds) {
    if (buffer_bytes > 0) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
  }
  return {sys::UniqueFd(fds[0]), sys::UniqueFd(fds[1])};
}

// Two sessions that talk to each other, both in this thread.
class BothEnds {
 public:
  BothEnds(Handle<SSL> server, Handle<SSL> client, int buffer_bytes = 0)
      : sockets(MakePair(buffer_bytes)), server(std::move(server)), client(std::move(client)) {}

  // Steps on both sides until both are done; false: one has failed, or nothing moves.
  bool Handshake() {
    for (int i = 0; i < 1000; ++i) {
      server_progress = server.Handshake(sockets.a.get());
      client_progress = client.Handshake(sockets.b.get());
      if (server_progress == RecordEngine::Progress::kFailed || client_progress == RecordEngine::Progress::kFailed) {
        // Each hears of the other's alert.
        server.Handshake(sockets.a.get());
        client.Handshake(sockets.b.get());
        return false;
      }
      if (server_progress == RecordEngine::Progress::kDone && client_progress == RecordEngine::Progress::kDone) {
        return true;
      }
    }
    return false;
  }

  // Moves all of `bytes` from one end to the other in pieces of `piece`, reads of `read`; what arrived.
  static std::string Carry(RecordEngine& from, int from_fd, RecordEngine& to, int to_fd, const std::string& bytes,
                           size_t piece, size_t read) {
    std::string arrived;
    std::vector<char> buffer(read);
    size_t sent = 0;
    int idle = 0;
    while (arrived.size() < bytes.size() && idle < 1000) {
      ++idle;
      if (sent < bytes.size()) {
        const int64_t took = from.Write(from_fd, bytes.data() + sent, std::min(piece, bytes.size() - sent));
        if (took > 0) sent += static_cast<size_t>(took), idle = 0;
        if (took < 0 && took != -EAGAIN) break;
      } else {
        from.Flush(from_fd);
      }
      const RecordEngine::ReadResult got = to.Read(to_fd, buffer.data(), buffer.size(), false);
      if (got.bytes > 0) arrived.append(buffer.data(), static_cast<size_t>(got.bytes)), idle = 0;
      if (got.bytes <= 0 && got.bytes != -EAGAIN) break;
    }
    return arrived;
  }
  std::string ToServer(const std::string& bytes, size_t piece = 1 << 20, size_t read = 65536) {
    return Carry(client, sockets.b.get(), server, sockets.a.get(), bytes, piece, read);
  }
  std::string ToClient(const std::string& bytes, size_t piece = 1 << 20, size_t read = 65536) {
    return Carry(server, sockets.a.get(), client, sockets.b.get(), bytes, piece, read);
  }

  SocketPair sockets;
  RecordEngine server;
  RecordEngine client;
  RecordEngine::Progress server_progress = RecordEngine::Progress::kWantsInput;
  RecordEngine::Progress client_progress = RecordEngine::Progress::kWantsInput;
};

}  // namespace sluice::tls::testing

#endif  // SLUICE_TLS_TESTING_BOTH_ENDS_H_
