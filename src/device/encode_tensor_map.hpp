#pragma once
#include "layout/tensor_map.hpp"
#if defined(__CUDACC__)
#include <cudaTypedefs.h>

#include <string>

#include "core/error.hpp"
#include "device/driver_function.hpp"
#else
#include "emulator/tensor_map_encoding.hpp"
#endif

namespace lapidary::inline LAPIDARY_BUILD {

/// What kernels of this build are given to copy boxes of a tensor.
/// @throws InvalidArgument with the rule that is broken, the actual value and the nearest legal one; DeviceError if the
/// driver refuses all the same
inline TensorMap tensor_map(const TensorBox& tensor) {
#if defined(__CUDACC__)
  require_legal(tensor);
  static const auto encode = driver_function<PFN_cuTensorMapEncodeTiled_v12000>("cuTensorMapEncodeTiled", 12000);
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

/// Lets a map that tensor_map() made be one of the same tensor elsewhere, at a multiple of 16 bytes.
/// @throws DeviceError if the driver refuses
inline void replace_address(TensorMap& map, const void* base) {
#if defined(__CUDACC__)
  static const auto replace = driver_function<PFN_cuTensorMapReplaceAddress_v12000>("cuTensorMapReplaceAddress", 12000);
  const CUresult status = replace(reinterpret_cast<CUtensorMap*>(&map), const_cast<void*>(base));
  if (status != CUDA_SUCCESS)
    throw DeviceError("cuTensorMapReplaceAddress: error " + std::to_string(static_cast<int>(status)));
#else
  emulator::replace_address(map, base);
#endif
}

/// Stands for the address of a tensor that is not known yet.
inline const void* unknown_address() { return reinterpret_cast<const void*>(std::uintptr_t{256}); }

}  // namespace lapidary::inline LAPIDARY_BUILD
