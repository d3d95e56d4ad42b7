#ifndef SLUICE_BENCH_LOAD_TCP_H_
#define SLUICE_BENCH_LOAD_TCP_H_

#include <netinet/in.h>
#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>

namespace sluice::bench {

// The bytes of every stream that the load tool sends: byte i of a connection, either way, is i mod 251. 251 is prime,
// so a piece that is lost, doubled or moved shows wherever the buffers of a proxy end.
constexpr uint64_t kPatternPeriod = 251;

// A piece of the pattern that starts at position `offset` of the stream; at least kPatternBytes long.
constexpr size_t kPatternBytes = 256 * 1024;
const char* PatternAt(uint64_t offset);

// Ignores SIGPIPE and raises the limit of open files to what is allowed.
void PrepareProcess();

// All sockets are non-blocking, close-on-exec, with TCP_NODELAY; failures end the program unless said otherwise.
int Listen(const sockaddr_in& address);
// -1 when the queue is empty.
int Accept(int listener);
// Starts connecting; -1 with errno on an immediate failure.
int StartConnect(const sockaddr_in& address);
// The error of a connect that epoll reported, 0 for success.
int ConnectError(int fd);

int NewEpoll();
// Edge-triggered, all events.
void Watch(int epoll, int fd, void* data);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_TCP_H_
