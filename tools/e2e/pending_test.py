#!/usr/bin/env python3
"""The form of pending.md: whole sentences, known parts, nothing twice, no numbers of anybody's list."""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True

import report  # pylint: disable=wrong-import-position

PARTS = {'HTTP', 'SOCKS', 'TLS', 'access rules', 'limits', 'parents', 'administration', 'mail and FTP',
         'PROXY protocol', 'transparent service'}


class Pending(unittest.TestCase):

    def setUp(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pending.md')
        with open(path, encoding='utf-8') as file:
            self.lines = file.read().splitlines()
        self.rows = [[cell.strip() for cell in line.strip('|').split('|')]
                     for line in self.lines if line.startswith('|')]

    def test_table_has_its_head_and_two_columns(self):
        self.assertEqual(self.rows[:2], [['What the user would see', 'Waits for'], ['---', '---']])
        self.assertEqual({len(row) for row in self.rows}, {2})

    def test_every_row_waits_for_parts_that_are_known(self):
        for _, parts in self.rows[2:]:
            self.assertLessEqual(set(parts.split(', ')), PARTS)

    def test_every_row_says_what_the_user_would_see(self):
        for symptom, _ in self.rows[2:]:
            self.assertRegex(symptom, r'^[A-Z].{25,}[^.]$')
            self.assertIsNone(re.search(r'\bB\d{3}\b|#\d|https?://', symptom), symptom)

    def test_nothing_is_listed_twice(self):
        symptoms = [symptom for symptom, _ in self.rows[2:]]
        self.assertEqual(len(symptoms), len(set(symptoms)))


if __name__ == '__main__':
    raise SystemExit(report.run('pending_test', []))
