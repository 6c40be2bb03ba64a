#include "trial/gpu_run.hpp"

#include <memory>

#include "core/error.hpp"
#include "device/device.hpp"
#include "trial/captured_output.hpp"
#include "trial/gpu_kernel.hpp"
#include "trial/kernel_data.hpp"
#include "trial/kernel_launch.hpp"
#include "trial/kernel_problem.hpp"

namespace lapidary::trial {

GpuRun run_on_gpu(const CudaSource& source, const Call& call, const std::string& instance, const Layouts& layouts,
                  const Request& request, const EmulatedRun& right) {
  GpuRun run;
  if (gpu_count() == 0) {
    run.not_timed = "there is no GPU that this program can run it on";
    return run;
  }
  try {
    const std::unique_ptr<Device> device = open_gpu();
    run.device = device->properties().name;
    const GpuKernel kernel(source, *call.kernel, instance, call.roles, device->properties().compute_capability,
                           request.keep);
    const KernelData data(right.spec, right.operands, right.initial_c);
    std::string ignored;
    const CapturedOutput printed(ignored);
    run.verification = data.verify(
        data.run(*device, [&](const KernelArguments& given) { kernel.launch(right.shape, given, device->stream()); }));
    if (!run.verification.ok) {
      run.not_timed = "it is wrong there";
      return run;
    }
    if (!call.constants.empty()) throw InvalidArgument("its sizes are constants of the file");
    const std::optional<Type> type = type_of(call.element("A")), result = type_of(right.operands.D.element);
    if (!type || !result || call.element("B") != call.element("A"))
      throw InvalidArgument("kernels whose A and B are of one type, and none of them of double, are timed");
    bench::RandomProblem spec = right.spec;
    Problem& timed = spec.problem;
    timed.M = timed.N = timed.K = run.size = request.size;
    timed.lda = timed.ldb = timed.ldc = timed.ldd = 0;
    spec = bench::resolve(spec);
    const LaunchShape launched = shape_of(source, call, request, timed);
    const Operands stored = operands_of(call, layouts, timed, {}, {});
    timed.kind = {*type, *result};
    run.time = bench::time_kernel(*device, timed, [&](const Stream& stream, const lapidary::Operands& at) {
      // Kernels that read C find it in D, beta being 0.
      kernel.launch(launched,
                    {timed.M, timed.N, timed.K, stored.A.ld, stored.B.ld, stored.C.ld, stored.D.ld, 1, 0,
                     const_cast<void*>(at.A), const_cast<void*>(at.B), at.D, at.D},
                    stream);
    });
  } catch (const InvalidArgument& error) {
    run.not_timed = error.what();
  }
  return run;
}

}  // namespace lapidary::trial
