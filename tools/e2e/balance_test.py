#!/usr/bin/env python3
"""Several services on one port, each with its own source address: the kernel deals the connections evenly."""

import collections
import math

import rig
import peers

ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
CONNECTIONS = rig.size(1000, 4000)


@rig.expand
class Balance(rig.Case):

    @rig.over(one_worker=1, two_workers=2, three_workers=3)
    def test_four_source_addresses_on_one_port_get_a_quarter_each(self, workers):
        with peers.Origin() as origin:
            port = peers.free_port()
            config = 'maxconn 2000\n' + ''.join('tcppm -e%s -i127.0.0.1 %d 127.0.0.1 %d\n' %
                                                (address, port, origin.port) for address in ADDRESSES)
            with rig.Sluice(config, '--workers=%d' % workers) as proxy:
                self.assertEqual([address[1] for _, address in proxy.services()], [port] * 4)
                self.assertEqual(len(peers.listeners(port)), 4 * workers)
                for _ in range(CONNECTIONS // 50):
                    peers.together(lambda _: peers.tunnel_works(('127.0.0.1', port)), range(50))
            shares = collections.Counter(peer[0] for peer in origin.peers)
        self.assertEqual(sum(shares.values()), CONNECTIONS)
        self.assertEqual(sorted(shares), ADDRESSES)
        # A fair deal of n has a standard deviation of sqrt(n * 3/16): five of them, or 5% of all where that is more.
        bound = max(0.05 * CONNECTIONS, 5 * math.sqrt(CONNECTIONS * 3 / 16))
        for address in ADDRESSES:
            self.assertLess(abs(shares[address] - CONNECTIONS / 4), bound, dict(shares))


if __name__ == '__main__':
    rig.main()
