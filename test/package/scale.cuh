#include <lapidary/kernel.hpp>

#include "scale.hpp"

inline namespace LAPIDARY_BUILD {

__global__ void scale_kernel(Scale s) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < s.n) s.to[i] = fmaf(s.factor, s.from[i], 0.0f);
}

void scale(const lapidary::Stream& stream, const Scale& arguments) {
  lapidary::launch(stream, {.kernel = "scale", .grid = lapidary::ceil_div(arguments.n, 256), .block = 256},
                   scale_kernel, arguments);
}

}  // namespace
