#pragma once
#include "layout/tensor_map.hpp"
#if defined(__CUDACC__)
#include <cudaTypedefs.h>

#include <string>

#include "core/error.hpp"
#include "device/launch.hpp"
#else
#include "emulator/tensor_map.hpp"
#endif

namespace lapidary::inline LAPIDARY_BUILD {

/// What kernels of this build are given to copy boxes of a tensor.
/// @throws InvalidArgument with the rule that is broken, the actual value and the nearest legal one; DeviceError if the
/// driver refuses all the same
inline TensorMap tensor_map(const TensorBox& tensor) {
#if defined(__CUDACC__)
  require_legal(tensor);
  // By the runtime, so that the program needs no library of the driver.
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
               "cuTensorMapEncodeTiled");
    if (found != cudaDriverEntryPointSuccess) throw DeviceError("the driver has no cuTensorMapEncodeTiled (CUDA 12.0)");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  alignas(128) CUtensorMap map;
  cuuint64_t size[TensorBox::max_rank], stride[TensorBox::max_rank - 1];
  cuuint32_t box[TensorBox::max_rank], element_stride[TensorBox::max_rank];
  for (int mode = 0; mode < tensor.rank; ++mode) {
    size[mode] = tensor.size[mode];
    if (mode > 0) stride[mode - 1] = tensor.stride[mode - 1];
    box[mode] = static_cast<cuuint32_t>(tensor.box[mode]);
    element_stride[mode] = tensor.element_stride[mode];
  }
  const CUresult status = encode(
      &map, static_cast<CUtensorMapDataType>(tensor.type), tensor.rank, const_cast<void*>(tensor.base), size, stride,
      box, element_stride, CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(tensor.swizzle),
      static_cast<CUtensorMapL2promotion>(tensor.promotion), static_cast<CUtensorMapFloatOOBfill>(tensor.fill));
  if (status != CUDA_SUCCESS)
    throw DeviceError("cuTensorMapEncodeTiled: error " + std::to_string(static_cast<int>(status)));
  TensorMap result;
  __builtin_memcpy(static_cast<void*>(&result), &map, sizeof(result));
  return result;
#else
  return emulator::encode(tensor);
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
