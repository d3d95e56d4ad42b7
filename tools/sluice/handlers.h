#ifndef SLUICE_TOOLS_SLUICE_HANDLERS_H_
#define SLUICE_TOOLS_SLUICE_HANDLERS_H_

#include <memory>

#include "protocols/service/listeners.h"
#include "protocols/service/service_context.h"

namespace sluice::tools {

// What serves the clients of a service: the one place that knows which class that is. Main thread only.
service::ServiceHandler MakeHandler(std::shared_ptr<const service::ServiceContext> context);

}  // namespace sluice::tools

#endif  // SLUICE_TOOLS_SLUICE_HANDLERS_H_
