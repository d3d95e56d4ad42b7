#!/usr/bin/env python3
"""Proves that the relay cases can fail: each fault of faulty_relay.py is found by its case, a right relay passes."""

import concurrent.futures
import os
import subprocess
import sys
import xml.etree.ElementTree

import rig
import faulty_relay

FOLDER = os.path.dirname(os.path.abspath(__file__))

# fault -> the case of relay_test.py that finds it
FOUND_BY = {
    'eof_ends_both': 'test_answer_after_the_client_has_finished_sending__v4_copied',
    'drops_tail': 'test_last_bytes_and_end_reach_a_reader_that_slept',
    'rst_overtakes': 'test_whole_answer_arrives_though_the_origin_aborts_after_it__v4_copied',
    'forgets_readiness': 'test_thousands_of_tiny_segments_reach_a_slow_reader__v4_copied',
    'spins': 'test_stalled_reader_costs_no_cpu__v4_copied',
    'corks': 'test_small_messages_are_not_held_back__v4_copied',
    'repeats': 'test_both_directions_at_once_with_faltering_readers__v4_copied',
    'mixes': 'test_rest_of_an_aborted_download_never_reaches_another_client__v4_copied',
    'no_half_close_timer': 'test_half_closed_session_whose_other_side_vanished_ends__client',
    'hoards': 'test_stalled_readers_cost_bounded_memory__v4_copied',
    'no_idle_timer': 'test_idle_session_ends_for_both_sides__idle_copied',
    'idle_is_silent': 'test_idle_session_ends_for_both_sides__idle_spliced',
    'dies_of_sigpipe': 'test_clients_that_abort_downloads_do_not_end_the_process__v4_copied',
    'leaks_descriptors': 'test_no_session_ever_sees_a_byte_of_another__v4_copied',
    'keeps_client': 'test_refused_destination_closes_the_client_at_once',
}


def verdict(fault, case):
    """Runs one relay case over the double: (exit status, failures told in the XML, output)."""
    xml_path = os.path.join(rig.scratch_folder(), 'test.xml')
    environment = dict(os.environ, RELAY_FAULT=fault, XML_OUTPUT_FILE=xml_path)
    environment.pop('SLUICE_LONG', None)
    done = subprocess.run([sys.executable, os.path.join(FOLDER, 'relay_test.py'),
                           os.path.join(FOLDER, 'faulty_relay.py'), '-k', case], env=environment, timeout=100,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    suite = xml.etree.ElementTree.parse(xml_path).getroot().find('testsuite')
    return done.returncode, int(suite.get('failures')), done.stdout.decode('utf-8', 'replace')


@rig.expand
class RelayCases(rig.Case):

    @classmethod
    def setUpClass(cls):
        # Most of them wait for timers: a few at a time. Both verdicts of a fault come from one thread.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            cls.verdicts = {fault: pool.submit(lambda f=fault: (verdict(f, FOUND_BY[f]), verdict('', FOUND_BY[f])))
                            for fault in faulty_relay.FAULTS}

    @rig.over(**{fault: fault for fault in faulty_relay.FAULTS})
    def test_fault_is_found(self, fault):
        status, failures, output = self.verdicts[fault].result()[0]
        self.assertEqual(status, 1, output)
        self.assertGreaterEqual(failures, 1, output)

    @rig.over(**{fault: fault for fault in faulty_relay.FAULTS})
    def test_right_relay_passes_the_case_of(self, fault):
        status, failures, output = self.verdicts[fault].result()[1]
        self.assertEqual((status, failures), (0, 0), output)


if __name__ == '__main__':
    rig.main()
