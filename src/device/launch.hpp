#pragma once
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/gemm.hpp"
#include "core/launch_shape.hpp"
#include "core/math.hpp"
#include "device/encode_tensor_map.hpp"
#include "device/prepared.hpp"
#include "device/stream.hpp"
#include "emulator/machine.hpp"
#include "ptx/cuda.hpp"
#if defined(__CUDACC__)
#include "device/cuda_check.hpp"
#endif

namespace lapidary::inline LAPIDARY_BUILD {

/// What a kernel needs of a device before its first launch; asked for at each preparation.
/// @throws DeviceError, or InvalidArgument if a block has less shared memory
inline void enable([[maybe_unused]] const void* kernel, [[maybe_unused]] const LaunchShape& shape) {
#if defined(__CUDACC__)
  enable_on_gpu(kernel, shape);
#elif !defined(LAPIDARY_INSTRUMENTED)
  // The instrumented build's red zones may take more than a GPU has.
  if (shape.shared_bytes > LaunchLimits::shared_bytes_opt_in)
    throw InvalidArgument(std::string(shape.kernel) + " asks for " + std::to_string(shape.shared_bytes) +
                          " bytes of shared memory; a block has at most " +
                          std::to_string(LaunchLimits::shared_bytes_opt_in));
#endif
}

#if defined(__CUDACC__)
constexpr Build this_build = Build::gpu;
#elif defined(LAPIDARY_INSTRUMENTED)
constexpr Build this_build = Build::instrumented;
#else
constexpr Build this_build = Build::plain;
#endif

/// Bytes from the first argument to each of them, and behind the last one, if each is aligned as its type is.
template <class... Parameters>
constexpr auto argument_offsets() {
  std::array<int, sizeof...(Parameters) + 1> offsets{};
  std::size_t next = 0;
  int end = 0;
  ((offsets[next++] = round_up(end, static_cast<int>(alignof(Parameters))),
    end = offsets[next - 1] + static_cast<int>(sizeof(Parameters))),
   ...);
  offsets[next] = end;
  return offsets;
}

/// Starts a kernel with these parameters on arguments that lie as argument_offsets() has them.
template <class... Parameters>
void start(const Stream& stream, const LaunchShape& shape, const void* kernel, std::byte* arguments) {
  constexpr auto offsets = argument_offsets<Parameters...>();
#if defined(__CUDACC__)
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.grid.x, shape.grid.y, shape.grid.z);
  config.blockDim = dim3(shape.block.x, shape.block.y, shape.block.z);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream.cuda);
  const auto& [x, y, z] = shape.cluster;
  cudaLaunchAttribute attributes[2]{};
  config.attrs = attributes;
  if (x * y * z > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {x, y, z};
  }
  if (shape.overlaps) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  void* pointers[sizeof...(Parameters) + 1];
  for (std::size_t i = 0; i < sizeof...(Parameters); ++i) pointers[i] = arguments + offsets[i];
  check_cuda(cudaLaunchKernelExC(&config, kernel, pointers), shape.kernel);
#else
  const auto function = reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel));
  // Not instrumented: reading the arguments is not the kernel's doing.
  const auto thread = [&]() __attribute__((no_sanitize("thread"))) {
    [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((no_sanitize("thread"))) {
      function(*reinterpret_cast<const Parameters*>(arguments + offsets[i])...);
    }
    (std::index_sequence_for<Parameters...>());
  };
  const auto call = [](const void* context) __attribute__((no_sanitize("thread"))) {
    (*static_cast<const decltype(thread)*>(context))();
  };
  stream.machine->run(shape, {call, &thread, kernel});
#endif
}

/// Launches `kernel` with the arguments that it declares. On the GPU it returns at once and the kernel runs in the
/// order of the stream; on the emulated machine it returns when the kernel has run.
/// @throws DeviceError, or on the emulated machine KernelFault, if the launch or the kernel fails
template <class... Parameters, class... Arguments>
void launch(const Stream& stream, const LaunchShape& shape, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  constexpr auto offsets = argument_offsets<Parameters...>();
  alignas(64) std::byte bytes[offsets.back() + 1];
  std::size_t next = 0;
  const auto place = [&](const auto& argument) { std::memcpy(bytes + offsets[next++], &argument, sizeof(argument)); };
  (place(static_cast<Parameters>(arguments)), ...);
  const void* const function = reinterpret_cast<const void*>(kernel);
  enable(function, shape);
  start<Parameters...>(stream, shape, function, bytes);
}

/// A kernel's argument by which bulk copies find a matrix: tensor maps of it, encoded without its address, and behind
/// them what is less than a tensor map.
template <class Map>
struct MatrixMap {
  Map map;
  Matrix matrix;
};

/// Adds the slots of an argument that begins at `offset`, for what is not known before a launch.
inline void add_slot(Prepared& prepared, ArgumentSlot::Kind kind, Matrix matrix, std::size_t offset) {
  prepared.slot.at(static_cast<std::size_t>(prepared.slots++)) = {kind, matrix, static_cast<std::uint16_t>(offset)};
}
template <class T, class R>
void add_slots(Prepared& prepared, const Gemm<T, R>&, std::size_t offset) {
  using G = Gemm<T, R>;
  using Kind = ArgumentSlot::Kind;
  add_slot(prepared, Kind::alpha, {}, offset + offsetof(G, alpha));
  add_slot(prepared, Kind::beta, {}, offset + offsetof(G, beta));
  add_slot(prepared, Kind::pointer, Matrix::A, offset + offsetof(G, A));
  add_slot(prepared, Kind::pointer, Matrix::B, offset + offsetof(G, B));
  add_slot(prepared, Kind::pointer, Matrix::C, offset + offsetof(G, C));
  add_slot(prepared, Kind::pointer, Matrix::D, offset + offsetof(G, D));
}
template <class Map>
void add_slots(Prepared& prepared, const MatrixMap<Map>& argument, std::size_t offset) {
  for (std::size_t at = 0; at + sizeof(TensorMap) <= sizeof(Map); at += sizeof(TensorMap))
    add_slot(prepared, ArgumentSlot::Kind::tensor_map, argument.matrix, offset + at);
}
template <class Argument>
void add_slots(Prepared&, const Argument&, std::size_t) {}

/// What the kernel declares of an argument.
template <class Argument>
const Argument& value_of(const Argument& argument) {
  return argument;
}
template <class Map>
const Map& value_of(const MatrixMap<Map>& argument) {
  return argument.map;
}

/// Prepared::start: writes the operands into a copy of the arguments, and starts the kernel.
template <class... Parameters>
void start_prepared(const Prepared& prepared, const Stream& stream, const Operands& operands) {
  alignas(64) std::byte bytes[Prepared::most_bytes];
  std::memcpy(bytes, prepared.arguments.data(), static_cast<std::size_t>(prepared.bytes));
  for (int i = 0; i < prepared.slots; ++i) {
    const ArgumentSlot& slot = prepared.slot[static_cast<std::size_t>(i)];
    std::byte* const at = bytes + slot.offset;
    const void* const address = operands[slot.matrix];
    switch (slot.kind) {
      case ArgumentSlot::Kind::alpha: std::memcpy(at, &operands.alpha, sizeof(float)); break;
      case ArgumentSlot::Kind::beta: std::memcpy(at, &operands.beta, sizeof(float)); break;
      case ArgumentSlot::Kind::pointer: std::memcpy(at, &address, sizeof(address)); break;
      case ArgumentSlot::Kind::tensor_map: replace_address(*reinterpret_cast<TensorMap*>(at), address); break;
      case ArgumentSlot::Kind::bias: std::memcpy(at, &operands.bias, sizeof(operands.bias)); break;
      case ArgumentSlot::Kind::residual: std::memcpy(at, &operands.residual, sizeof(operands.residual)); break;
      case ArgumentSlot::Kind::scale: std::memcpy(at, &operands.scale, sizeof(float)); break;
      case ArgumentSlot::Kind::low: std::memcpy(at, &operands.low, sizeof(float)); break;
      case ArgumentSlot::Kind::high: std::memcpy(at, &operands.high, sizeof(float)); break;
      case ArgumentSlot::Kind::group_ends: std::memcpy(at, &operands.group_ends, sizeof(operands.group_ends)); break;
    }
  }
  start<Parameters...>(stream, prepared.shape, prepared.kernel, bytes);
}

/// A launch of `kernel` that solves a resolved problem, with the arguments that it declares: Gemm as gemm_of() makes
/// it, tensor maps of its matrices as MatrixMap, and others as they are.
/// @throws DeviceError, or InvalidArgument if a block has too little shared memory
template <class... Parameters, class... Arguments>
Prepared prepared(const Problem& problem, const LaunchShape& shape, void (*kernel)(Parameters...),
                  const Arguments&... arguments) {
  constexpr auto offsets = argument_offsets<Parameters...>();
  static_assert(offsets.back() <= Prepared::most_bytes && (std::is_trivially_copyable_v<Parameters> && ...));
  Prepared result;
  result.problem = problem;
  result.build = this_build;
  result.shape = shape;
  result.kernel = reinterpret_cast<const void*>(kernel);
  result.start = start_prepared<Parameters...>;
  result.bytes = offsets.back();
  std::size_t next = 0;
  const auto place = [&]<class Parameter>(std::type_identity<Parameter>, const auto& argument) {
    const Parameter value = value_of(argument);
    const auto offset = static_cast<std::size_t>(offsets[next++]);
    std::memcpy(result.arguments.data() + offset, &value, sizeof(value));
    add_slots(result, argument, offset);
  };
  (place(std::type_identity<Parameters>(), arguments), ...);
  enable(result.kernel, shape);
  return result;
}

}  // namespace lapidary::inline LAPIDARY_BUILD
