#include "sys/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace sluice::sys {

void FillStandardStreams() {
  // In ascending order: open(2) gives the lowest number that is free. Without O_CLOEXEC, as standard streams are.
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    // A bare root folder may have no /dev/null; what matters is that the number is taken. Writes to a folder just fail.
    if (open("/dev/null", O_RDWR) < 0) (void)open("/", O_RDONLY | O_DIRECTORY);
  }
}

}  // namespace sluice::sys
