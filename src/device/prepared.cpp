#include "device/prepared.hpp"

namespace lapidary {

void Prepared::launch(const Stream& stream, const Operands& operands) const {
  validate(problem, operands);
  launch_validated(stream, operands);
}

void Prepared::launch_validated(const Stream& stream, const Operands& operands) const {
  require_stream_for(build, stream);
  if (kernel) start(*this, stream, operands);
}

}  // namespace lapidary
