#ifndef SLUICE_SYS_PROCESS_STANDARD_STREAMS_H_
#define SLUICE_SYS_PROCESS_STANDARD_STREAMS_H_

namespace sluice::sys {

// Opens /dev/null in the place of each of the descriptors 0, 1 and 2 that is closed (`sluice <&- >&- 2>&-`, some
// service managers, some cron jobs). Otherwise the next socket would get the number, and every message and access
// record would go to whoever is at its other end.
//
// Before anything else is opened. Main thread only.
void FillStandardStreams();

}  // namespace sluice::sys

#endif  // SLUICE_SYS_PROCESS_STANDARD_STREAMS_H_
