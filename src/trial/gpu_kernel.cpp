#include "trial/gpu_kernel.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/error.hpp"
#include "core/shell_word.hpp"
#include "trial/call_text.hpp"

namespace lapidary::trial {
namespace {

std::string errors_of(const std::string& output) {
  std::istringstream lines(output);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (line.find("error") != line.npos) text += "\n" + line;
  return text.empty() ? "\n" + output : text;
}

}  // namespace

std::optional<std::string> find_tool(const char* variable, const std::vector<std::string>& names) {
  const char* const chosen = std::getenv(variable);
  if (chosen && *chosen) return chosen;
  for (const std::string& name : names)
    if (run_command(fmt::format("command -v {}", name)).status == 0) return name;
  return std::nullopt;
}

std::optional<std::string> find_nvcc() { return find_tool("NVCC", {"nvcc", "/usr/local/cuda/bin/nvcc"}); }

std::string nvcc_command(const std::string& compiler, const CudaSource& source, const std::string& unit,
                         int compute_capability, const std::string& options) {
  const std::string beside = std::filesystem::absolute(source.path()).parent_path().string();
  // NVIDIA's own headers are found first; the stand-ins are there for those of libraries that are not installed.
  return fmt::format("{} -std=c++17 -O3 -arch=sm_{} -w -Dmain=lapidary_main -I {} -isystem {} {} {}", compiler,
                     compute_capability, shell_word(beside), shell_word(stand_in_headers().string()), shell_word(unit),
                     options);
}

std::string gpu_unit(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
                     const std::vector<std::string>& roles) {
  return fmt::format(
      R"({0}
#line 1 "{1}"
{2}
#line 1 "{1}: the launch of the kernel"
{5}extern "C" __attribute__((visibility("default"))) const char* lapidary_launch(
    const ::lapidary::KernelArguments* given, const unsigned* grid, const unsigned* block, unsigned shared,
    void* stream) {{
  const ::lapidary::KernelArguments& arguments = *given;
  {6}cudaError_t status = cudaSuccess;
  if (shared > 48 * 1024)
    status = cudaFuncSetAttribute({3}, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  if (status == cudaSuccess) {{
    {3}<<<dim3(grid[0], grid[1], grid[2]), dim3(block[0], block[1], block[2]), shared,
        static_cast<cudaStream_t>(stream)>>>{4};
    status = cudaGetLastError();
  }}
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}}
)",
      fmt::format("#include <cuda_runtime.h>\n#include \"{}\"", (stand_in_headers() / "arguments.hpp").string()),
      in_literal(source.path()), source.rewritten(CudaSource::Target::gpu), instance, call_of(kernel, roles),
      without_macros(), in_scope(kernel));
}

GpuKernel::GpuKernel(const CudaSource& source, const CudaKernel& kernel, const std::string& instance,
                     const std::vector<std::string>& roles, int compute_capability, const std::string& keep)
    : folder_(keep) {
  const std::optional<std::string> compiler = find_nvcc();
  if (!compiler)
    throw InvalidArgument("there is no nvcc on the PATH; the environment variable NVCC names one elsewhere");
  const std::string unit = folder_.file("gpu_kernel.cu"), object = folder_.file("gpu_kernel.so");
  std::ofstream(unit) << gpu_unit(source, kernel, instance, roles);
  const Finished compiled = run_command(
      nvcc_command(*compiler, source, unit, compute_capability,
                   fmt::format("-shared -Xcompiler -fPIC,-fvisibility=hidden -o {}", shell_word(object))));
  if (compiled.status != 0)
    throw InvalidArgument(fmt::format("nvcc does not compile {}:{}", source.path(), errors_of(compiled.output)));
  library_ = SharedObject(object);
  launch_ = library_.function<Launch>("lapidary_launch");
}

void GpuKernel::launch(const LaunchShape& shape, const KernelArguments& arguments, const Stream& stream) const {
  const unsigned grid[] = {shape.grid.x, shape.grid.y, shape.grid.z};
  const unsigned block[] = {shape.block.x, shape.block.y, shape.block.z};
  if (const char* const why = launch_(&arguments, grid, block, shape.shared_bytes, stream.cuda))
    throw DeviceError(fmt::format("the launch of {}: {}", shape.kernel, why));
}

}  // namespace lapidary::trial
