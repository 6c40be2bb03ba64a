#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "device/encode_tensor_map.hpp"
#include "layout/matrix_descriptor.hpp"
#include "ptx/clock.hpp"
#include "ptx/cp_async.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/ldmatrix.hpp"
#include "ptx/mma.hpp"
#include "ptx/shared_address.hpp"
#include "ptx/wgmma.hpp"
#include "tile/outer_product.hpp"
#include "tile/pipeline.hpp"

// Micro-benchmarks of one multiprocessor. Each runs an operation `rounds` times and tells the cycles that a block took.
// What is computed is stored under a condition that never holds and that the compiler cannot know.

namespace lapidary::bench::calibration {

struct Arguments {
  long long* cycles;    ///< one for each block
  float* sink;          ///< written if `never` holds
  const float* memory;  ///< of `words` floats
  std::int64_t words;
  int rounds;
  unsigned start = 0;  ///< word at which a chain of loads begins
  int never = 0;
  TensorMap map = {};                ///< of the memory, for operations that have one
  unsigned rest_ns = 0;              ///< between rounds, of time_load()
  long long* nanoseconds = nullptr;  ///< that a block took, of time_load()
};

/// Runs Operation::run(state, round) for each round. The barriers keep a block's warps together at both ends.
template <class Operation>
__global__ void time_rounds(const __grid_constant__ Arguments arguments) {
  Operation operation(arguments);
  __syncthreads();
  const long long begin = clock64();
  for (int round = 0; round < arguments.rounds; ++round) operation.run(arguments, round);
  // The last results must have come before the clock is read.
  const float result = operation.result();
  if (result == 1234.0f && arguments.never) arguments.sink[threadIdx.x] = result;
  __syncthreads();
  const long long end = clock64();
  if (threadIdx.x == 0) arguments.cycles[blockIdx.x] = end - begin;
}

/// The same for as long as a card is to be under load, with rests between the rounds; also the time that it took. Apart
/// from time_rounds(), which is timed to the cycle.
template <class Operation>
__global__ void time_load(const __grid_constant__ Arguments arguments) {
  Operation operation(arguments);
  __syncthreads();
  const long long cycle = clock64(), begin = global_nanoseconds();
  for (int round = 0; round < arguments.rounds; ++round) {
    operation.run(arguments, round);
    if (arguments.rest_ns > 0) __nanosleep(arguments.rest_ns);
  }
  const float result = operation.result();
  if (result == 1234.0f && arguments.never) arguments.sink[threadIdx.x] = result;
  __syncthreads();
  if (threadIdx.x > 0) return;
  arguments.cycles[blockIdx.x] = clock64() - cycle;
  arguments.nanoseconds[blockIdx.x] = global_nanoseconds() - begin;
}

// ------------------------------------------------------------------------------------------------ arithmetic

/// TM x TN outer products from registers, `products` of them a round, of two pairs of vectors in turns; each thread has
/// numbers of its own. Of four the last two are subtracted, so that sums stay as long as they are in products.
template <int TM, int TN, bool there_and_back, int products>
struct Ffma {
  static constexpr int operations = TM * TN * products;
  float a[2][TM], b[2][TN], d[TM][TN];
  __device__ explicit Ffma(const Arguments& g) {
    const float* const own = g.memory + 128 * threadIdx.x;
    for (int i = 0; i < TM; ++i) a[0][i] = own[i], a[1][i] = own[i + 32];
    for (int j = 0; j < TN; ++j) b[0][j] = own[j + 64], b[1][j] = own[j + 96];
    for (int i = 0; i < TM; ++i)
      for (int j = 0; j < TN; ++j) d[i][j] = own[i * TN + j];
  }
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int p = 0; p < products; ++p) {
      float signed_a[TM];
#pragma unroll
      for (int i = 0; i < TM; ++i) signed_a[i] = p % 4 < 2 ? a[p % 2][i] : -a[p % 2][i];
      if constexpr (there_and_back) {
        outer_product(d, signed_a, b[p % 2]);
      } else {
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
          for (int j = 0; j < TN; ++j) d[i][j] = fmaf(signed_a[i], b[p % 2][j], d[i][j]);
      }
    }
  }
  __device__ float result() const {
    float sum = 0;
    for (int i = 0; i < TM; ++i)
      for (int j = 0; j < TN; ++j) sum += d[i][j];
    return sum;
  }
};

/// `chains` independent chains of dependent multiply-adds; 64 of them are 1 KiB of code.
template <int chains, int operations_ = 64>
struct FfmaChain {
  static constexpr int operations = operations_;
  float x[chains], y;
  __device__ explicit FfmaChain(const Arguments& g) : y(g.memory[threadIdx.x]) {
    for (int i = 0; i < chains; ++i) x[i] = g.memory[i];
  }
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int k = 0; k < operations / chains; ++k)
#pragma unroll
      for (int i = 0; i < chains; ++i) x[i] = fmaf(x[i], y, y);
  }
  __device__ float result() const {
    float sum = 0;
    for (int i = 0; i < chains; ++i) sum += x[i];
    return sum;
  }
};

/// Logic operations, four chains; with `multiply` integer multiply-adds instead.
template <bool multiply>
struct Integer {
  static constexpr int operations = 64;
  unsigned x[4], y;
  __device__ explicit Integer(const Arguments& g) : y(static_cast<unsigned>(g.words) | threadIdx.x) {
    for (unsigned i = 0; i < 4; ++i) x[i] = static_cast<unsigned>(g.rounds) + i;
  }
  __device__ void run(const Arguments&, int round) {
#pragma unroll
    for (int k = 0; k < operations / 4; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        x[i] = multiply ? x[i] * y + x[(i + 1) % 4] : (x[i] & y) ^ (x[(i + 1) % 4] | static_cast<unsigned>(round));
  }
  __device__ float result() const { return static_cast<float>(x[0] ^ x[1] ^ x[2] ^ x[3]); }
};

/// Conversions of halves to floats, each added up: one conversion and half a multiply-add an operation.
struct HalfToFloat {
  static constexpr int operations = 64;
  __half2 h;
  float x[4] = {};
  __device__ explicit HalfToFloat(const Arguments& g) : h(__floats2half2_rn(g.memory[threadIdx.x], g.memory[1])) {}
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int k = 0; k < operations / 2; ++k) {
      x[k % 4] = fmaf(__low2float(h), __high2float(h), x[k % 4]);
      reinterpret_cast<unsigned&>(h) += 0x00010001u;
    }
  }
  __device__ float result() const { return x[0] + x[1] + x[2] + x[3]; }
};

/// An integer multiply-add, or with `convert` a conversion of a half to a float, in front of each three multiply-adds;
/// all in chains of their own.
template <bool convert>
struct Mixed {
  static constexpr int operations = 32;
  unsigned x[8], y;
  float z[12], w;
  __device__ explicit Mixed(const Arguments& g)
      : y(static_cast<unsigned>(g.words) | threadIdx.x), w(g.memory[threadIdx.x]) {
    for (unsigned i = 0; i < 8; ++i) x[i] = __float_as_uint(g.memory[i]);
    for (int i = 0; i < 12; ++i) z[i] = g.memory[i];
  }
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int k = 0; k < operations; ++k) {
      unsigned& number = x[k % 8];
      // The lower half of what it was before.
      number = convert ? __float_as_uint(__half2float(__ushort_as_half(static_cast<unsigned short>(number))))
                       : number * y + x[(k + 1) % 8];
#pragma unroll
      for (int i = 0; i < 3; ++i) z[(3 * k + i) % 12] = fmaf(z[(3 * k + i) % 12], w, w);
    }
  }
  __device__ float result() const {
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += __uint_as_float(x[i]);
    for (int i = 0; i < 12; ++i) sum += z[i];
    return sum;
  }
};

// ------------------------------------------------------------------------------------------------ shared memory

extern __shared__ __align__(1024) float4 calibration_shared[];

__device__ inline float total(float value) { return value; }
__device__ inline float total(const float2& value) { return value.x + value.y; }
__device__ inline float total(const float4& value) { return value.x + value.y + value.z + value.w; }

__device__ inline void add(float& sum, float value) { sum += value; }
__device__ inline void add(float2& sum, const float2& value) { sum.x += value.x, sum.y += value.y; }
__device__ inline void add(float4& sum, const float4& value) {
  sum.x += value.x, sum.y += value.y, sum.z += value.z, sum.w += value.w;
}

/// Loads of `Vector` at 32 places by lanes that are `stride` bytes apart; 1 << shift neighbouring lanes agree.
template <class Vector, int stride, int shift = 0>
struct SharedLoad {
  static constexpr int operations = 32;
  int from;
  Vector sum = {};
  __device__ explicit SharedLoad(const Arguments& g) : from((static_cast<int>(threadIdx.x) % 32 >> shift) * stride) {
    for (unsigned i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x)
      reinterpret_cast<float*>(calibration_shared)[i] = g.memory[i];
    __syncthreads();
  }
  __device__ void run(const Arguments& g, int round) {
    // The same addresses in every round, which the compiler cannot know.
    const char* const at = reinterpret_cast<const char*>(calibration_shared) + from + (round & g.never) * 16;
#pragma unroll
    for (int k = 0; k < operations; ++k) add(sum, *reinterpret_cast<const Vector*>(at + k * 512));
  }
  __device__ float result() const { return total(sum); }
};

/// Stores likewise.
template <class Vector, int stride>
struct SharedStore {
  static constexpr int operations = 32;
  int to;
  Vector value = {};
  __device__ explicit SharedStore(const Arguments& g) : to(static_cast<int>(threadIdx.x) % 32 * stride) {
    add(value, Vector{});
    reinterpret_cast<float&>(value) = g.memory[threadIdx.x];
  }
  __device__ void run(const Arguments& g, int round) {
    char* const at = reinterpret_cast<char*>(calibration_shared) + to + (round & g.never) * 16;
#pragma unroll
    for (int k = 0; k < operations; ++k) *reinterpret_cast<Vector*>(at + k * 512) = value;
  }
  __device__ float result() const { return *reinterpret_cast<const float*>(calibration_shared); }
};

/// A chain of loads, each of which gives the address of the next.
struct SharedChase {
  static constexpr int operations = 32;
  unsigned at = 0;
  __device__ explicit SharedChase(const Arguments& g) {
    // All zeros, which the compiler cannot know.
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) reinterpret_cast<int*>(calibration_shared)[i] = g.never;
    __syncthreads();
  }
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int k = 0; k < operations; ++k) at = reinterpret_cast<const unsigned*>(calibration_shared)[at];
  }
  __device__ float result() const { return static_cast<float>(at); }
};

/// Multiply-adds on operands from shared memory: four outer products of TM x TN, which every other round subtracts.
template <int TM, int TN>
struct SharedFfma {
  static constexpr int operations = TM * TN * 4;
  int from;
  float d[TM][TN] = {};
  __device__ explicit SharedFfma(const Arguments& g) : from(static_cast<int>(threadIdx.x) % 16 * 16) {
    for (unsigned i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x)
      reinterpret_cast<float*>(calibration_shared)[i] = g.memory[i];
    __syncthreads();
  }
  __device__ void run(const Arguments& g, int round) {
    const char* const at = reinterpret_cast<const char*>(calibration_shared) + from + (round & g.never) * 16;
    if (round % 2 == 0)
      multiply<1>(at);
    else
      multiply<-1>(at);
  }
  template <int sign>
  __device__ void multiply(const char* at) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float a[TM], b[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4)
        reinterpret_cast<float4&>(a[i]) = *reinterpret_cast<const float4*>(at + k * 2048 + i * 64);
#pragma unroll
      for (int j = 0; j < TN; j += 4)
        reinterpret_cast<float4&>(b[j]) = *reinterpret_cast<const float4*>(at + k * 2048 + 8192 + j * 64);
#pragma unroll
      for (int i = 0; i < TM; ++i) a[i] = sign * a[i];
      outer_product(d, a, b);
    }
  }
  __device__ float result() const {
    float sum = 0;
    for (int i = 0; i < TM; ++i)
      for (int j = 0; j < TN; ++j) sum += d[i][j];
    return sum;
  }
};

// ------------------------------------------------------------------------------------------------ tensor cores

/// Two numbers of 16 bits, of which bf16 makes the halves of two floats.
__device__ inline std::uint32_t pair(const float* from) {
  return __float_as_uint(from[0]) >> 16 | (__float_as_uint(from[1]) & 0xffff0000u);
}

/// Products of a warp, `chains` independent chains of them.
template <class Form, int chains>
struct MmaChain {
  static constexpr int operations = 32;
  std::uint32_t a[Form::a_registers], b[Form::b_registers];
  typename Form::Accumulator d[chains][Form::d_registers] = {};
  __device__ explicit MmaChain(const Arguments& g) {
    for (int i = 0; i < Form::a_registers; ++i) a[i] = pair(g.memory + 2 * (threadIdx.x + 32 * i));
    for (int i = 0; i < Form::b_registers; ++i) b[i] = pair(g.memory + 2 * (threadIdx.x + 32 * i) + 512);
  }
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int k = 0; k < operations; ++k) mma_sync<Form>(d[k % chains], a, b, d[k % chains]);
  }
  __device__ float result() const {
    float sum = 0;
    for (int i = 0; i < chains; ++i)
      for (int j = 0; j < Form::d_registers; ++j) sum += static_cast<float>(d[i][j]);
    return sum;
  }
};

/// Products of a warp as those of a tile are: of `rows` x `cols` fragments of D, each step by other ones of A and B.
/// The signs of A change from round to round, so that sums stay as long as they are in products.
template <class Form, int rows, int cols>
struct MmaTile {
  static constexpr int steps = 2, turns = 4, operations = turns * steps * rows * cols;
  std::uint32_t a[steps][rows][Form::a_registers], b[steps][cols][Form::b_registers];
  typename Form::Accumulator d[rows][cols][Form::d_registers] = {};
  __device__ explicit MmaTile(const Arguments& g) {
    const float* own = g.memory + 512 * threadIdx.x;
    const auto take = [&](std::uint32_t& into) { into = pair(own), own += 2; };
    for (int k = 0; k < steps; ++k) {
      for (auto& fragment : a[k])
        for (std::uint32_t& into : fragment) take(into);
      for (auto& fragment : b[k])
        for (std::uint32_t& into : fragment) take(into);
    }
  }
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int k = 0; k < turns * steps; ++k)
#pragma unroll
      for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int j = 0; j < cols; ++j) mma_sync<Form>(d[i][j], a[k % steps][i], b[k % steps][j], d[i][j]);
#pragma unroll
    for (auto& of_step : a)
#pragma unroll
      for (auto& fragment : of_step)
#pragma unroll
        for (std::uint32_t& numbers : fragment) numbers ^= 0x80008000u;
  }
  __device__ float result() const {
    float sum = 0;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j)
        for (int k = 0; k < Form::d_registers; ++k) sum += static_cast<float>(d[i][j][k]);
    return sum;
  }
};

/// ldmatrix of four matrices whose 32 rows of 16 bytes are `stride` bytes apart; each after the one before, if it is to
/// be a chain.
template <int stride, bool chain = false>
struct MatrixLoad {
  static constexpr int operations = 32;
  unsigned at;
  std::uint32_t sum = 0;
  __device__ explicit MatrixLoad(const Arguments& g) : at(threadIdx.x % 32 * stride) {
    // All zeros, which the compiler cannot know.
    for (unsigned i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x)
      reinterpret_cast<int*>(calibration_shared)[i] = g.never;
    __syncthreads();
  }
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int k = 0; k < operations; ++k) {
      std::uint32_t matrix[4];
      ldmatrix(matrix, reinterpret_cast<const char*>(calibration_shared) + at + (chain ? 0 : k * 512));
      if (chain)
        at += matrix[0];
      else
        sum ^= matrix[0] ^ matrix[1] ^ matrix[2] ^ matrix[3];
    }
  }
  __device__ float result() const { return static_cast<float>(sum ^ at); }
};

/// wgmma of 64 x N from shared memory, rows in the swizzle of 128 bytes, or with A in registers. Operands are what the
/// memory holds, of this type; they are the same for all warpgroups but A's, which are their own. They come from
/// `stages` stages of 128 bytes along K, one after the other, and where there are several each round has sums of its
/// own; of one the same operands come again and again, and sums become ever longer.
template <int N, bool a_in_registers = false, class T = bf16, class R = float, int stages = 1>
struct WarpgroupProducts {
  static constexpr int operations = 16, row = 128, rows = 8 * row;  // bytes
  static constexpr int of_a = 128 * row, stage = of_a + 256 * row, shared = stages * stage;
  using Form = Wgmma<T, T, R, N>;
  std::uint32_t a[Form::a_registers];
  std::uint64_t from_a, from_b;
  R d[Form::d_registers] = {};
  __device__ explicit WarpgroupProducts(const Arguments& g) {
    const auto* const words = reinterpret_cast<const std::uint32_t*>(g.memory);
    for (int i = 0; i < Form::a_registers; ++i) a[i] = words[threadIdx.x + 32 * i];
    for (unsigned i = threadIdx.x; i < shared / 4; i += blockDim.x)
      reinterpret_cast<std::uint32_t*>(calibration_shared)[i] = words[i];
#if __CUDA_ARCH__ >= 900
    fence_proxy_async();
#endif
    __syncthreads();
    const std::uint32_t start = shared_address(calibration_shared), group = threadIdx.x / 128;
    from_a = encode(
        MatrixDescriptor{.start = start + group * 64 * row, .stride = rows, .swizzle = TensorSwizzle::bytes128});
    from_b = encode(MatrixDescriptor{.start = start + of_a, .stride = rows, .swizzle = TensorSwizzle::bytes128});
  }
  __device__ void run(const Arguments& g, int) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (a_in_registers) wgmma_fence(a);
    wgmma_fence(d);
#pragma unroll
    for (int k = 0; k < operations; ++k) {
      // 32 bytes along K, in units of 16.
      const std::uint64_t at = k % 4 * 2 + static_cast<std::uint64_t>(k / 4 % stages * (stage >> 4));
      // A sum that ptxas knows to begin anew makes the round before useless, which it then leaves out.
      const bool adds = stages == 1 || k > 0 || g.never != 0;
      if constexpr (a_in_registers)
        wgmma_mma_async<Form>(d, a, from_b + at, adds);
      else
        wgmma_mma_async<Form>(d, from_a + at, from_b + at, adds);
    }
    wgmma_commit_group();
    wgmma_wait_group<0>(d);
#endif
  }
  __device__ float result() const {
    float sum = 0;
    for (int i = 0; i < Form::d_registers; ++i) sum += static_cast<float>(d[i]);
    return sum;
  }
};

// ------------------------------------------------------------------------------------------------ global memory

/// Stores of results as wgmma leaves them with a thread: four lanes have neighbouring words of each of 8 lines of a
/// matrix. A block's warps go through 16 lines each of a tile of its own of 512 bytes across, which lie beside each
/// other; all tiles are in L2 after the first round.
struct ResultStore {
  static constexpr int across = 512, operations = 2 * across / 16;
  std::uint32_t value;
  char* to;
  std::int64_t line;
  __device__ explicit ResultStore(const Arguments& g)
      : value(threadIdx.x), line(static_cast<std::int64_t>(gridDim.x) * across) {
    const unsigned lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    to = reinterpret_cast<char*>(const_cast<float*>(g.memory)) + row * line + blockIdx.x * across + lane % 4 * 4;
  }
  __device__ void run(const Arguments&, int round) {
#pragma unroll
    for (int i = 0; i < operations; ++i)
      *reinterpret_cast<std::uint32_t*>(to + i % 2 * 8 * line + i / 2 * 16) = value + static_cast<unsigned>(round);
  }
  __device__ float result() const { return 0; }
};

/// Bulk copies of boxes of 128 rows of 128 bytes, of which twelve are on their way at a time; one thread issues them.
/// All blocks walk through `words` words, each `readers` of them together, begun evenly apart.
template <int readers>
struct TensorLoad {
  static constexpr int operations = 12, row = 128, rows = 128, bytes = row * rows;
  static constexpr int shared = 1024 + operations * bytes;
  /// Of `words` words.
  static TensorMap map(const float* memory, std::int64_t words) {
    return tensor_map({.base = memory,
                       .size = {row / 2, static_cast<std::uint64_t>(words * 4 / row)},
                       .stride = {row},
                       .box = {row / 2, rows},
                       .rank = 2,
                       .type = TensorType::bf16,
                       .swizzle = TensorSwizzle::bytes128,
                       .promotion = TensorPromotion::bytes256});
  }
  int at;  ///< a row
  __device__ explicit TensorLoad(const Arguments& g)
      : at(static_cast<int>(boxes(g) * (blockIdx.x / readers * readers) / gridDim.x) * rows) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x > 0) return;
    for (int stage = 0; stage < operations; ++stage) mbarrier_init(barrier(stage), 1);
    fence_mbarrier_init();
    for (int stage = 0; stage < operations; ++stage) load(g, stage);
#endif
  }
  __device__ void run(const Arguments& g, int round) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x > 0) return;
    for (int stage = 0; stage < operations; ++stage) {
      wait(barrier(stage), round & 1);
      if (round + 1 < g.rounds) load(g, stage);
    }
#endif
  }
  __device__ float result() const { return 0; }

 private:
  __device__ static std::int64_t boxes(const Arguments& g) { return g.words * 4 / bytes; }
  __device__ static Mbarrier& barrier(int stage) { return reinterpret_cast<Mbarrier*>(calibration_shared)[stage]; }
  __device__ void load(const Arguments& g, int stage) {
    mbarrier_arrive_expect_tx(barrier(stage), bytes);
    cp_async_bulk_tensor_load(reinterpret_cast<char*>(calibration_shared) + 1024 + stage * bytes, g.map,
                              Coordinates{0, at}, barrier(stage));
    at += rows;
    if (at >= boxes(g) * rows) at = 0;
  }
};

/// Products of two warpgroups, while a ninth warp copies `copied` boxes a round over their operands: what they read is
/// what the memory holds, of this round or of one before. A block's warps meet after each round.
template <int copied, int N, class T>
struct ProductsBesideCopies {
  using Products = WarpgroupProducts<N, false, T, float, 4>;
  static constexpr int operations = Products::operations, shared = Products::shared + 1024;
  static_assert(copied * TensorLoad<1>::bytes <= Products::shared);
  static TensorMap map(const float* memory, std::int64_t words) { return TensorLoad<1>::map(memory, words); }
  Products products;
  int at;  ///< a row
  __device__ explicit ProductsBesideCopies(const Arguments& g)
      : products(g), at(static_cast<int>(boxes(g) * blockIdx.x / gridDim.x) * TensorLoad<1>::rows) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x != copier) return;
    for (int box = 0; box < copied; ++box) mbarrier_init(barrier(box), 1);
    fence_mbarrier_init();
    for (int box = 0; box < copied; ++box) load(g, box);
#endif
  }
  __device__ void run(const Arguments& g, int round) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x < copier) products.run(g, round);
    if (threadIdx.x == copier) {
      for (int box = 0; box < copied; ++box) {
        wait(barrier(box), round & 1);
        if (round + 1 < g.rounds) load(g, box);
      }
    }
    __syncthreads();
#endif
  }
  __device__ float result() const { return products.result(); }

 private:
  static constexpr unsigned copier = 256;
  __device__ static std::int64_t boxes(const Arguments& g) { return g.words * 4 / TensorLoad<1>::bytes; }
  __device__ static Mbarrier& barrier(int box) {
    return reinterpret_cast<Mbarrier*>(calibration_shared)[Products::shared / sizeof(Mbarrier) + box];
  }
  __device__ void load(const Arguments& g, int box) {
    mbarrier_arrive_expect_tx(barrier(box), TensorLoad<1>::bytes);
    cp_async_bulk_tensor_load(reinterpret_cast<char*>(calibration_shared) + box * TensorLoad<1>::bytes, g.map,
                              Coordinates{0, at}, barrier(box));
    at += TensorLoad<1>::rows;
    if (at >= boxes(g) * TensorLoad<1>::rows) at = 0;
  }
};

/// A chain of loads through `words` words of memory, a stride of 1 KiB and a line apart; one lane alone.
struct GlobalChase {
  static constexpr int operations = 16;
  unsigned at;
  __device__ explicit GlobalChase(const Arguments& g) : at(g.start) {}
  __device__ void run(const Arguments& g, int) {
#pragma unroll
    for (int k = 0; k < operations; ++k) at = reinterpret_cast<const unsigned*>(g.memory)[at];
  }
  __device__ float result() const { return static_cast<float>(at); }
};

/// Loads that L1 holds: lanes `stride` bytes apart.
template <class Vector, int stride>
struct L1Load {
  static constexpr int operations = 16;
  int from;
  Vector sum = {};
  __device__ explicit L1Load(const Arguments&) : from(static_cast<int>(threadIdx.x) % 32 * stride) {}
  __device__ void run(const Arguments& g, int round) {
    const char* const at = reinterpret_cast<const char*>(g.memory) + from + (round & g.never) * 16;
#pragma unroll
    for (int k = 0; k < operations; ++k) add(sum, __ldca(reinterpret_cast<const Vector*>(at + k * 512)));
  }
  __device__ float result() const { return total(sum); }
};

/// 128-bit loads that L1 does not hold: all blocks walk through `words` words, begun evenly apart, so that no two of
/// them want the same line at the same time.
struct StreamLoad {
  static constexpr int operations = 16;
  float4 sum = {};
  std::int64_t at;
  __device__ explicit StreamLoad(const Arguments& g)
      : at(g.words / 4 / blockDim.x * blockIdx.x / gridDim.x * blockDim.x + threadIdx.x) {}
  __device__ void run(const Arguments& g, int) {
#pragma unroll
    for (int k = 0; k < operations; ++k) {
      add(sum, __ldcg(reinterpret_cast<const float4*>(g.memory) + at));
      at += blockDim.x;
      if (at >= g.words / 4) at -= g.words / 4;
    }
  }
  __device__ float result() const { return total(sum); }
};

/// Asynchronous copies of `bytes` bytes a lane from memory that L2 holds.
template <int bytes>
struct AsyncCopy {
  static constexpr int operations = 16;
  __device__ explicit AsyncCopy(const Arguments&) {}
  __device__ void run(const Arguments& g, int) {
    char* const to = reinterpret_cast<char*>(calibration_shared) + threadIdx.x % 256 * bytes;
    const char* const from = reinterpret_cast<const char*>(g.memory) + threadIdx.x % 256 * bytes;
#pragma unroll
    for (int k = 0; k < operations; ++k) cp_async<bytes>(to + k % 4 * 256 * bytes, from + k * 256 * bytes, bytes);
    cp_async_commit_group();
    cp_async_wait_group<1>();
  }
  __device__ float result() const { return *reinterpret_cast<const float*>(calibration_shared); }
};

// ------------------------------------------------------------------------------------------------ control

struct Barrier {
  static constexpr int operations = 16;
  __device__ explicit Barrier(const Arguments&) {}
  __device__ void run(const Arguments&, int) {
#pragma unroll
    for (int k = 0; k < operations; ++k) __syncthreads();
  }
  __device__ float result() const { return 0; }
};

/// Sleeps: what a card takes that has work and does none.
struct Asleep {
  static constexpr int operations = 1;
  __device__ explicit Asleep(const Arguments&) {}
  __device__ void run(const Arguments&, int) { __nanosleep(1000); }
  __device__ float result() const { return 0; }
};

}  // namespace lapidary::bench::calibration
