#pragma once
// Kernels whose memory traffic and arithmetic are known: small probes, and matrix products of which a GPU's own
// counters were read.
#include "device/shared.hpp"
#include "register.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

// ---------------------------------------------------------------- one access to shared memory by one warp

/// A load of 16 or 8 bytes by each lane, `stride` vectors apart, all lanes of a period at different addresses.
template <class Vector, int stride, int period = 32>
__global__ void shared_vectors(Vector* a, Vector*, Vector* c, int) {
  __shared__ Vector s[32 * stride];
  for (int i = threadIdx.x; i < 32 * stride; i += 32) s[i] = a[i];
  __syncthreads();
  c[threadIdx.x] = s[threadIdx.x % period * stride];
}

/// 32 loads that walk the columns of a tile.
template <int pitch>
__global__ void shared_columns(float* a, float*, float* c, int) {
  __shared__ float s[32][pitch];
  for (int i = 0; i < 32; ++i) s[i][threadIdx.x] = a[i];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += s[threadIdx.x][i];
  c[threadIdx.x] = sum;
}

// ---------------------------------------------------------------- one access to global memory by one warp

template <int stride, int offset>
__global__ void global_floats(float* a, float*, float* c, int) {
  c[threadIdx.x] = a[threadIdx.x * stride + offset];
}

__global__ void global_vectors(float4* a, float4*, float4* c, int) { c[threadIdx.x] = a[threadIdx.x]; }

/// A vector of which one element is used, and one that is changed.
template <class Vector>
__global__ void vector_variables(Vector* a, Vector* b, Vector* c, int) {
  const Vector used = a[threadIdx.x];
  Vector changed = b[threadIdx.x];
  changed.x += used.x;
  c[threadIdx.x] = changed;
}

/// Vectors to and from an array in registers, by pointers of both kinds, and through shared memory.
__global__ void vectors_of_registers(float* a, float* b, float* c, int) {
  __shared__ float4 s[32];
  float r[8];
  *reinterpret_cast<float4*>(&r[0]) = *reinterpret_cast<const float4*>(&a[4 * threadIdx.x]);
  *reinterpret_cast<float4*>(&r[4]) = reinterpret_cast<float4*>(b)[threadIdx.x];
  for (int i = 0; i < 4; ++i) r[i] += r[i + 4];
  s[threadIdx.x] = make_float4(r[0], r[1], r[2], r[3]);
  __syncthreads();
  const float4 other = s[31 - threadIdx.x];
  r[0] = other.x, r[1] = other.w;
  reinterpret_cast<float4*>(c)[threadIdx.x] = *reinterpret_cast<const float4*>(r);
}

/// The first n lanes alone take part.
__global__ void global_some_lanes(float* a, float*, float* c, int n) {
  if (static_cast<int>(threadIdx.x) < n) c[threadIdx.x] = a[threadIdx.x];
}

__global__ void global_read_modify_write(float* a, float*, float*, int) { a[threadIdx.x] += 1; }

__global__ void atomics(int* a, int*, int*, int) {
  __shared__ int s[64];
  s[threadIdx.x] = 0;
  s[threadIdx.x + 32] = 0;
  __syncthreads();
  atomicAdd(&s[threadIdx.x * 2], 1);
  atomicAdd(&a[threadIdx.x * 2], 1);
}

/// A register array, indexed by what is known at run time only, is no memory traffic.
__global__ void registers(float* a, float*, float* c, int n) {
  float r[8];
  for (int i = 0; i < 8; ++i) r[i] = a[i * 32 + threadIdx.x];
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += r[i * 5 % 8];
  c[threadIdx.x] = sum;
}

// ---------------------------------------------------------------- lanes that take different paths

/// Lane l runs l + 1 rounds of a loop: all lanes that are in a round are in the same one.
__global__ void triangular_loop(float* a, float*, float* c, int) {
  float sum = 0;
  for (int i = 0; i <= static_cast<int>(threadIdx.x); ++i) sum += a[i * 32 + threadIdx.x];
  c[threadIdx.x] = sum;
}

/// The two sides of a branch, one of which goes on after it has ended.
__global__ void branches(float* a, float* b, float* c, int) {
  float value;
  if (threadIdx.x % 2)
    value = a[threadIdx.x];
  else
    value = b[threadIdx.x * 8];
  c[threadIdx.x] = value + a[threadIdx.x + 64];
}

/// Lane 0 leaves out the first round, with or without a barrier that brings the lanes together after each.
template <bool with_barrier>
__global__ void skipped_round(float* a, float*, float* c, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    const int element = i * 32 + static_cast<int>(threadIdx.x) - 1;
    if (element >= 0) sum += a[element];
    if (with_barrier) __syncthreads();
  }
  c[threadIdx.x] = sum;
}

// ---------------------------------------------------------------- lines

LAPIDARY_DEVICE float through_helper(const float* a) { return *a; }

constexpr int lines_first_line = __LINE__ + 3;
__global__ void lines(float* a, float*, float* c, int n) {
  __shared__ float s[32];
  float x = a[threadIdx.x];  // the first line
  float y = through_helper(a + 1 + threadIdx.x);
  s[threadIdx.x] = x;
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    x = fmaf(x, y, s[i]);
    y = fmaf(y, y, fmaf(x, x, y));
  }
  c[threadIdx.x] = x + y;
}

// ---------------------------------------------------------------- c = a b, n x n, n a multiple of every tile

/// One thread a result, in blocks of 32 x 8. Lanes walk the columns, or else the rows.
template <bool coalesced>
__global__ void gemm_untiled(float* a, float* b, float* c, int n) {
  const int along = blockIdx.x * blockDim.x + threadIdx.x, across = blockIdx.y * blockDim.y + threadIdx.y;
  const int row = coalesced ? across : along, col = coalesced ? along : across;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fmaf(a[row * n + k], b[k * n + col], sum);
  c[row * n + col] = sum;
}

__global__ void gemm_tiles(float* a, float* b, float* c, int n) {
  __shared__ float sA[32][32], sB[32][32];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, col = blockIdx.x * 32 + x;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 32) {
    sA[y][x] = a[row * n + k0 + x];
    sB[y][x] = b[(k0 + y) * n + col];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum = fmaf(sA[y][k], sB[k][x], sum);
    __syncthreads();
  }
  c[row * n + col] = sum;
}

/// 128 x 128 x 8 tiles, 8 x 8 results a thread, all but the stores of the transposed A by 128 bits.
template <int padding>
__global__ void gemm_vectors(float* a, float* b, float* c, int n) {
  __shared__ __align__(16) float sA[8][128 + padding], sB[8][128];
  const int thread = threadIdx.x, row = blockIdx.y * 128, col = blockIdx.x * 128;
  const int i0 = thread / 16 * 8, j0 = thread % 16 * 8;
  float rD[8][8] = {};
  for (int k0 = 0; k0 < n; k0 += 8) {
    const int i = thread / 2, k = thread % 2 * 4;
    const float4 loaded = as<float4>(a[(row + i) * n + k0 + k]);
    sA[k][i] = loaded.x;
    sA[k + 1][i] = loaded.y;
    sA[k + 2][i] = loaded.z;
    sA[k + 3][i] = loaded.w;
    as<float4>(sB[thread / 32][thread % 32 * 4]) = as<float4>(b[(k0 + thread / 32) * n + col + thread % 32 * 4]);
    __syncthreads();
    for (int depth = 0; depth < 8; ++depth) {
      float4 rA[2], rB[2];
      for (int half = 0; half < 2; ++half) {
        rA[half] = as<float4>(sA[depth][i0 + half * 4]);
        rB[half] = as<float4>(sB[depth][j0 + half * 4]);
      }
      const float column[8] = {rA[0].x, rA[0].y, rA[0].z, rA[0].w, rA[1].x, rA[1].y, rA[1].z, rA[1].w};
      const float line[8] = {rB[0].x, rB[0].y, rB[0].z, rB[0].w, rB[1].x, rB[1].y, rB[1].z, rB[1].w};
      for (int r = 0; r < 8; ++r)
        for (int s = 0; s < 8; ++s) rD[r][s] = fmaf(column[r], line[s], rD[r][s]);
    }
    __syncthreads();
  }
  for (int r = 0; r < 8; ++r)
    for (int s = 0; s < 8; s += 4)
      as<float4>(c[(row + i0 + r) * n + col + j0 + s]) = make_float4(rD[r][s], rD[r][s + 1], rD[r][s + 2],
                                                                     rD[r][s + 3]);
}

constexpr TestKernel probe_table[] = {
    entry<shared_vectors<float4, 1>>("float4 in sequence", 1, 32),
    entry<shared_vectors<float4, 2>>("float4 with stride 2", 1, 32),
    entry<shared_vectors<float4, 1, 1>>("float4 at one address", 1, 32),
    entry<shared_vectors<float2, 1>>("float2 in sequence", 1, 32),
    entry<shared_vectors<float2, 2>>("float2 with stride 2", 1, 32),
    entry<shared_columns<32>>("columns of 32", 1, 32),
    entry<shared_columns<33>>("columns of 33", 1, 32),
    entry<global_floats<1, 0>>("floats in sequence", 1, 32),
    entry<global_floats<1, 1>>("floats off by one", 1, 32),
    entry<global_floats<2, 0>>("floats with stride 2", 1, 32),
    entry<global_floats<8, 0>>("floats with stride 8", 1, 32),
    entry<global_floats<0, 3>>("one float", 1, 32),
    entry<global_vectors>("float4", 1, 32),
    entry<vectors_of_registers>("vectors of registers", 1, 32),
#define LAPIDARY_VECTOR(Name) entry<vector_variables<Name>>("variables of " #Name, 1, 32),
#define LAPIDARY_VECTORS(name) \
  LAPIDARY_VECTOR(name##1) LAPIDARY_VECTOR(name##2) LAPIDARY_VECTOR(name##3) LAPIDARY_VECTOR(name##4)
#define LAPIDARY_WIDE_VECTORS(name) LAPIDARY_VECTORS(name) LAPIDARY_VECTOR(name##4_16a) LAPIDARY_VECTOR(name##4_32a)
    LAPIDARY_VECTORS(char) LAPIDARY_VECTORS(uchar) LAPIDARY_VECTORS(short) LAPIDARY_VECTORS(ushort)
        LAPIDARY_VECTORS(int) LAPIDARY_VECTORS(uint) LAPIDARY_VECTORS(float) LAPIDARY_WIDE_VECTORS(long)
            LAPIDARY_WIDE_VECTORS(ulong) LAPIDARY_WIDE_VECTORS(longlong) LAPIDARY_WIDE_VECTORS(ulonglong)
                LAPIDARY_WIDE_VECTORS(double) entry<global_some_lanes>("some lanes", 1, 32),
    entry<global_read_modify_write>("read-modify-write", 1, 32),
    entry<atomics>("atomics", 1, 32),
    entry<registers>("registers", 1, 32),
    entry<triangular_loop>("triangular loop", 1, 32),
    entry<branches>("branches", 1, 32),
    entry<skipped_round<false>>("skipped round", 1, 32),
    entry<skipped_round<true>>("skipped round, barrier", 1, 32),
    entry<lines>("lines", 1, 32, 0, lines_first_line),
    entry<gemm_untiled<true>>("coalesced", {8, 32}, {32, 8}),
    entry<gemm_untiled<false>>("uncoalesced", {8, 32}, {32, 8}),
    entry<gemm_tiles>("tiles", {8, 8}, {32, 32}),
    entry<gemm_vectors<0>>("vectors", {2, 2}, 256),
    entry<gemm_vectors<4>>("vectors, padded", {2, 2}, 256),
};

TestKernels probes() { return {probe_table, std::size(probe_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
