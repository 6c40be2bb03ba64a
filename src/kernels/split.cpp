#include "kernels/split.hpp"

#include "kernels/registry.hpp"

namespace lapidary {

std::optional<KSplit> split_of(const KernelEntry& kernel) {
  if (kernel.rung == "wgmma_split_k") return split_of_sums();
  if (kernel.rung == "wgmma_skinny") return split_of_streams(kernel);
  return {};
}

}  // namespace lapidary
