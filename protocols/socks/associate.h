#ifndef SLUICE_PROTOCOLS_SOCKS_ASSOCIATE_H_
#define SLUICE_PROTOCOLS_SOCKS_ASSOCIATE_H_

#include "protocols/socks/arrival.h"
#include "relay/worker.h"

namespace sluice::socks {

// UDP ASSOCIATE: opens a port for the datagrams of this client, on the address at which it came in (`udp_ports` limits
// which), tells it where (or `-Ni`), and gives both to the worker's associations. With `udp_ports N` all associations
// share that port on the service's own address, which was opened with the service, and one worker has them all. What
// the request says of the client's own address is not looked at, since few clients know it behind address translation:
// the client's is the one that its connection has, with the port of its first datagram.
//
// Who may send nowhere is refused; else each destination is judged when it is met (UdpExchange). What can be found out
// about the client is found out now, on a thread where that takes time, since no datagram can wait for it.
//
// Worker only.
void Associate(relay::Worker& worker, Arrival arrival);

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_ASSOCIATE_H_
