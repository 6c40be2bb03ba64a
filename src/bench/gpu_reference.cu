#include "bench/gpu_reference.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <vector>

#include "bench/bound.hpp"
#include "core/math.hpp"
#include "device/launch.hpp"

namespace lapidary::bench {
namespace {

constexpr int side = 16;       ///< threads along each side of a block
constexpr int per_thread = 4;  ///< results along each side of a thread's share
constexpr int tile = side * per_thread;
constexpr int depth = 16;  ///< of the sum, at a time
constexpr int threads = side * side;

/// Elements from one to the next of a matrix's column, and of its row.
struct Strides {
  std::int64_t row, col;

  Strides(Order order, std::int64_t ld)
      : row(order == Order::row_major ? ld : 1), col(order == Order::row_major ? 1 : ld) {}
};

/// Results and bounds of one tile of D. A thread's results are `side` apart, so that neighbours store to neighbours.
template <class T, class R>
__global__ void __launch_bounds__(threads)
    reference_kernel(const Gemm<T, R> g, Strides a, Strides b, GemmKind kind, double* results, double* bounds) {
  // The extra element keeps the stores of A's columns, `depth` lanes beside each other, out of each other's banks.
  __shared__ double sA[depth][tile + 1], sB[depth][tile];
  const std::int64_t tiles_n = ceil_div<std::int64_t>(g.N, tile);
  const std::int64_t first_row = blockIdx.x / tiles_n * tile, first_col = blockIdx.x % tiles_n * tile;
  const int x = static_cast<int>(threadIdx.x) % side, y = static_cast<int>(threadIdx.x) / side;

  double sum[per_thread][per_thread] = {}, square[per_thread][per_thread] = {};
  for (std::int64_t k0 = 0; k0 < g.K; k0 += depth) {
    for (int i = static_cast<int>(threadIdx.x); i < tile * depth; i += threads) {
      const std::int64_t row = first_row + i / depth, a_k = k0 + i % depth;
      sA[i % depth][i / depth] = row < g.M && a_k < g.K ? to_float(g.A[row * a.row + a_k * a.col]) : 0;
      const std::int64_t b_k = k0 + i / tile, col = first_col + i % tile;
      sB[i / tile][i % tile] = b_k < g.K && col < g.N ? to_float(g.B[b_k * b.row + col * b.col]) : 0;
    }
    __syncthreads();
    for (int k = 0; k < depth; ++k) {
      for (int i = 0; i < per_thread; ++i) {
        for (int j = 0; j < per_thread; ++j) {
          // Exact: the factors have 24 significant bits at most.
          const double product = sA[k][y + i * side] * sB[k][x + j * side];
          sum[i][j] += product;
          square[i][j] = fma(product, product, square[i][j]);
        }
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < per_thread; ++i) {
    for (int j = 0; j < per_thread; ++j) {
      const std::int64_t row = first_row + y + i * side, col = first_col + x + j * side;
      if (row >= g.M || col >= g.N) continue;
      const double alpha = g.alpha, beta = g.beta;
      const double scaled_c = beta == 0 ? 0 : beta * to_float(g.C[row * g.ldc + col]);
      const double result = wrapped(kind, alpha * sum[i][j] + scaled_c);
      results[row * g.N + col] = result;
      bounds[row * g.N + col] = error_bound(kind, g.K, alpha, square[i][j], scaled_c, result);
    }
  }
}

__global__ void __launch_bounds__(threads) convert_kernel(float* D, std::int64_t M, std::int64_t N, std::int64_t ldd) {
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < M * N; i += step) {
    float& element = D[i / N * ldd + i % N];
    element = static_cast<float>(__float_as_int(element));
  }
}

/// Adds what was found in another part.
LAPIDARY_HD void join(Findings& all, const Findings& part) {
  if (part.ratio > all.ratio) {
    all.ratio = part.ratio;
    all.row = part.row;
    all.col = part.col;
  }
  all.wrong += part.wrong;
  all.outside += part.outside;
}

/// Whether an element is still the poison.
__device__ bool untouched(float element) { return __float_as_uint(element) == 0xffffffffu; }
__device__ bool untouched(std::int32_t element) { return element == 0x7f7f7f7f; }
template <class T>
__device__ bool untouched(T element) {
  return element.bits == 0xffffu;
}

template <class T, class R>
__global__ void __launch_bounds__(threads)
    verify_kernel(const Gemm<T, R> g, const double* results, const double* bounds, Findings* blocks) {
  __shared__ Findings found[threads];
  Findings mine = {-1, 0, 0, 0, 0};
  const std::int64_t extent = (g.M - 1) * g.ldd + g.N, step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t offset = std::int64_t{blockIdx.x} * threads + threadIdx.x; offset < extent; offset += step) {
    const std::int64_t row = offset / g.ldd, col = offset % g.ldd;
    if (col >= g.N) {
      mine.outside += !untouched(g.D[offset]);
      continue;
    }
    const double error = fabs(to_double(g.D[offset]) - results[row * g.N + col]);
    const double bound = bounds[row * g.N + col];
    const bool right = error <= bound;                                              // false for NaN
    const double ratio = isnan(error) ? INFINITY : error == 0 ? 0 : error / bound;  // the bound of integers is 0
    join(mine, {ratio, row, col, !right, 0});
  }
  found[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < threads; ++i) join(mine, found[i]);
  blocks[blockIdx.x] = mine;
}

/// Calls visit(problem) with a problem's matrices as what they are.
template <class Visit>
void with_types(const Problem& problem, const Operands& operands, Visit&& visit) {
  with_type(problem.kind.type, [&](auto element) {
    using T = decltype(element);
    if constexpr (TypeOf<T>::value == Type::s8) {
      if (problem.kind.result == Type::s32) return visit(gemm_of<T, std::int32_t>(problem, operands));
    } else if constexpr (is_result(TypeOf<T>::value)) {
      if (problem.kind.result == problem.kind.type) return visit(gemm_of<T>(problem, operands));
    }
    if constexpr (TypeOf<T>::value != Type::s32) visit(gemm_of<T, float>(problem, operands));
  });
}

template <class T, class R>
void compute_reference(const Stream& stream, const GemmKind& kind, const Gemm<T, R>& g, double* results,
                       double* bounds) {
  const std::int64_t tiles = ceil_div<std::int64_t>(g.M, tile) * ceil_div<std::int64_t>(g.N, tile);
  launch(stream, {.kernel = "reference", .grid = tiles, .block = threads}, reference_kernel<T, R>, g,
         Strides(kind.a, g.lda), Strides(kind.b, g.ldb), kind, results, bounds);
}

template <class T, class R>
void verify(const Stream& stream, int blocks, const Gemm<T, R>& g, const double* results, const double* bounds,
            Findings* parts) {
  launch(stream, {.kernel = "verify", .grid = blocks, .block = threads}, verify_kernel<T, R>, g, results, bounds,
         parts);
}

}  // namespace

void compute_reference_on_gpu(Device& device, const Problem& problem, const Operands& operands, double* results,
                              double* bounds) {
  with_types(problem, operands,
             [&](const auto& g) { compute_reference(device.stream(), problem.kind, g, results, bounds); });
}

void convert_integers_on_gpu(Device& device, const Problem& problem, const Operands& operands) {
  launch(device.stream(), {.kernel = "convert", .grid = 1024, .block = threads}, convert_kernel,
         static_cast<float*>(operands.D), problem.M, problem.N, problem.ldd);
}

void poison_on_gpu(Device& device, Type type, void* data, std::size_t bytes) {
  check_cuda(
      cudaMemsetAsync(data, type == Type::s32 ? 0x7f : 0xff, bytes, static_cast<cudaStream_t>(device.stream().cuda)),
      "cudaMemsetAsync");
}

Findings verify_on_gpu(Device& device, const Problem& problem, const Operands& operands, const double* results,
                       const double* bounds) {
  constexpr int blocks = 1024;
  const DeviceBuffer buffer(device, blocks * sizeof(Findings), "findings");
  Findings* const on_device = static_cast<Findings*>(buffer.data());
  with_types(problem, operands, [&](const auto& g) { verify(device.stream(), blocks, g, results, bounds, on_device); });
  std::vector<Findings> parts(blocks);
  device.download(parts.data(), buffer.data(), buffer.bytes());
  Findings all = {-1, 0, 0, 0, 0};
  for (const Findings& part : parts) join(all, part);
  return all;
}

}  // namespace lapidary::bench
