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
// Prints "ready" once every port is open.
int RunOrigin(int argc, char** argv);

// --connect=IP:PORT [--connections=64] [--request=1024] [--warmup=0.5] [--seconds=3] [--tail=0] [--counters=FILE]:
// a closed loop, each connection sending its next request once the answer (as long as the request) is in.
int RunPingpong(int argc, char** argv);

// The same, with a new connection for every request; a latency runs from connect to the end of the answer.
int RunClose(int argc, char** argv);

// --connect=IP:PORT [--streams=1] [--direction=down|up] [--warmup= --seconds= --tail= --counters=]: as fast as it goes.
// Received bytes are dropped in the kernel (MSG_TRUNC): the client must not be what runs out first.
int RunStream(int argc, char** argv);

// --connect=IP:PORT [--connections=1000] [--request=1024]: opens connections, makes one exchange on each, prints
// {"open":N} and holds them. Each line on standard input makes another exchange on all and prints {"alive":N}; its end
// ends the command.
int RunHold(int argc, char** argv);

// --connect=IP:PORT [--send=0] [--receive=N]: sends so many bytes of the pattern, half-closes if it sent any, and
// compares what it receives with the pattern. With --send, the peer must send as much and end its stream; without, the
// first N bytes count. At most 20 s.
int RunCheck(int argc, char** argv);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_COMMANDS_H_
