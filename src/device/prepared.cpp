#include "device/prepared.hpp"

namespace lapidary {

void Prepared::launch(const Stream& stream, const Operands& operands) const {
  require_stream_for(build, stream);
  validate(problem, operands);
  if (kernel) start(*this, stream, operands);
}

}  // namespace lapidary
