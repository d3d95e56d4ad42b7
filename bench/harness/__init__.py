"""The harness of the benchmarks: network, processes, CPU accounting, rounds, statistics, tables. Standard library only."""
