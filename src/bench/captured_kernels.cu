#include "bench/captured_kernels.hpp"

#include <cudaTypedefs.h>

#include <cstddef>

#include "core/error.hpp"
#include "device/cuda_check.hpp"
#include "device/driver_function.hpp"

namespace lapidary::bench {
namespace {

void check(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS)
    throw DeviceError(std::string(what) + " fails: error " + std::to_string(static_cast<int>(status)));
}

}  // namespace

std::vector<CapturedKernel> captured_kernels(cudaGraph_t graph) {
  // The driver's view: the runtime knows no function of a library that loads its kernels itself.
  static const auto parameters = driver_function<PFN_cuGraphKernelNodeGetParams_v12000>("cuGraphKernelNodeGetParams",
                                                                                        12000);
  static const auto attribute = driver_function<PFN_cuGraphKernelNodeGetAttribute_v11000>(
      "cuGraphKernelNodeGetAttribute", 12000);
  static const auto function_name = driver_function<PFN_cuFuncGetName_v12030>("cuFuncGetName", 12030);
  static const auto kernel_name = driver_function<PFN_cuKernelGetName_v12030>("cuKernelGetName", 12030);
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  std::vector<CapturedKernel> kernels;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check_cuda(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type != cudaGraphNodeTypeKernel) continue;
    CUDA_KERNEL_NODE_PARAMS_v2 shape{};
    check(parameters(node, &shape), "cuGraphKernelNodeGetParams");
    CUkernelNodeAttrValue cluster{};
    check(attribute(node, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION, &cluster), "cuGraphKernelNodeGetAttribute");
    const char* name = nullptr;
    check(shape.func ? function_name(&name, shape.func) : kernel_name(&name, shape.kern), "cuFuncGetName");
    const auto at_least_one = [](unsigned extent) { return extent == 0 ? 1u : extent; };
    kernels.push_back(
        {name,
         {shape.gridDimX, shape.gridDimY, shape.gridDimZ},
         {at_least_one(cluster.clusterDim.x), at_least_one(cluster.clusterDim.y), at_least_one(cluster.clusterDim.z)},
         static_cast<int>(shape.blockDimX * shape.blockDimY * shape.blockDimZ)});
  }
  return kernels;
}

}  // namespace lapidary::bench
