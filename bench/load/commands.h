#ifndef SLUICE_BENCH_LOAD_COMMANDS_H_
#define SLUICE_BENCH_LOAD_COMMANDS_H_

namespace sluice::bench {

// The commands of loadtool. Each gets the arguments after its name and returns the exit status: 0 when the load ran,
// 1 when it could not, 2 for wrong arguments. Results are one line of JSON on standard output. Each is one thread with
// one edge-triggered epoll set.

// MODE=PORT... [--counters=FILE]: serves until it is killed. A mode is
//   pingpong  answers every 1024 bytes with 1024 bytes
//   source    sends for ever, or as many bytes as :N after the port says, then ends the stream
//   sink      takes everything
//   echo      sends back what it gets; ends its stream after the client's
//   idle      takes connections and does nothing
//   http      answers a request for /N (HTTP/1.1, also with an absolute URL or a body) with N bytes of the pattern
// Prints "ready" once every port is open.
int RunOrigin(int argc, char** argv);

// All others get ROUTE: --connect=IP:PORT [--tunnel=connect|socks --target=IP:PORT] (route.h).

// ROUTE MESSAGE [--connections=64] [--close] [--warmup=0.5] [--seconds=3] [--tail=0] [--counters=FILE]: a closed loop,
// each connection sending its next request once the answer is in; MESSAGE: exchange.h. With --close each request has a
// connection of its own, and a latency runs from connect to the end of the answer.
int RunRequests(int argc, char** argv);

// ROUTE [--streams=1] [--direction=down|up] [--warmup= --seconds= --tail= --counters=]: as fast as it goes.
// Received bytes are dropped in the kernel (MSG_TRUNC): the client must not be what runs out first.
int RunStream(int argc, char** argv);

// ROUTE MESSAGE [--connections=1000]: opens connections, makes one exchange on each, prints
// {"open":N} and holds them. Each line on standard input makes another exchange on all and prints {"alive":N}; its end
// ends the command.
int RunHold(int argc, char** argv);

// ROUTE [--send=0] [--receive=N] [--half-close=0] [--save=FILE]: sends so many bytes of the pattern and compares what
// it receives with the pattern. Where it sends it half-closes then, and the other side must send as much and end its
// stream; without --send or with --half-close=0 the first N bytes count. FILE gets the bytes received. At most 20 s.
int RunCheck(int argc, char** argv);

// ROUTE MESSAGE (a URL) --save=FILE: one exchange; FILE gets the body as it came, whatever it is. At most 20 s.
int RunFetch(int argc, char** argv);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_COMMANDS_H_
