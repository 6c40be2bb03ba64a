#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "bench/timing.hpp"
#include "bench/verify.hpp"
#include "trial/cuda_source.hpp"
#include "trial/emulated_run.hpp"
#include "trial/kernel_call.hpp"
#include "trial/matrix_image.hpp"
#include "trial/request.hpp"

namespace lapidary::trial {

/// How a kernel does on a GPU.
struct GpuRun {
  std::string not_timed;  ///< why, if it was not
  std::string device;     ///< empty if there is none
  bench::Verification verification;
  std::int64_t size = 0;  ///< M = N = K of what was timed
  std::optional<bench::KernelTime> time;

  bool wrong() const { return verification.results > 0 && !verification.ok; }
};

/// @param right  a run that ended well on the emulated machine; it is repeated first
GpuRun run_on_gpu(const CudaSource& source, const Call& call, const std::string& instance, const Layouts& layouts,
                  const Request& request, const EmulatedRun& right);

}  // namespace lapidary::trial
