#pragma once
// Instructions that a warp executes as one, with faults and without, for the emulated machine alone. As in faults.cuh,
// a kernel's line is where the fault is; of a race, where the two accesses are.
#include "device/shared.hpp"
#include "ptx/ldmatrix.hpp"
#include "ptx/mma.hpp"
#include "register.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

using Deep = Mma<bf16, bf16, float, 16, 8, 16>;
using Flat = Mma<bf16, bf16, float, 16, 8, 8>;

template <class Form>
struct Fragments {
  typename Form::Register a[Form::a_registers] = {}, b[Form::b_registers] = {};
  typename Form::Accumulator d[Form::d_registers] = {};
};

// ---------------------------------------------------------------- who takes part

constexpr int all_but_one_line = __LINE__ + 4;
__global__ void all_but_one(float*, float*, float*, int n) {
  Fragments<Deep> r;
  if (static_cast<int>(threadIdx.x) == n) return;
  mma_sync<Deep>(r.d, r.a, r.b, r.d);
}

constexpr int two_instructions_line = __LINE__ + 5;
__global__ void two_instructions(float*, float*, float*, int n) {
  Fragments<Deep> deep;
  Fragments<Flat> flat;
  if (static_cast<int>(threadIdx.x) < n)
    mma_sync<Deep>(deep.d, deep.a, deep.b, deep.d);
  else
    mma_sync<Flat>(flat.d, flat.a, flat.b, flat.d);
}

constexpr int two_places_line = __LINE__ + 4;
__global__ void two_places(float*, float*, float*, int n) {
  Fragments<Deep> r;
  if (static_cast<int>(threadIdx.x) < n)
    mma_sync<Deep>(r.d, r.a, r.b, r.d);
  else
    mma_sync<Deep>(r.d, r.a, r.b, r.d);
}

constexpr int one_missing_line = __LINE__ + 4;
__global__ void one_missing(float*, float*, float*, int) {
  Fragments<Deep> r;
  if (threadIdx.x != 7) {
    mma_sync<Deep>(r.d, r.a, r.b, r.d);
  }
  __syncthreads();
}

// ---------------------------------------------------------------- memory

/// 32 rows of 8 elements, as floats.
struct Rows {
  SharedArray<float, 128> row, other;
};

enum class Does {
  right,
  load_unwritten,
  load_misaligned,
  load_outside,
  load_global,
  load_late,
  store_outside,
  store_late
};

LAPIDARY_DEVICE int row_of_lane() { return static_cast<int>(threadIdx.x % 32); }

constexpr int matrices_line = __LINE__ + 12;
template <Does does>
__global__ void matrices(float* a, float*, float* c, int) {
  auto& [row, other] = shared_storage<Rows>();
  std::uint32_t r[4];
  const int lane = row_of_lane();
  if (does != Does::load_unwritten) as<float4>(row[4 * lane]) = as<float4>(a[4 * lane]);
  if (does != Does::load_late) __syncwarp();
  const unsigned char* from = reinterpret_cast<const unsigned char*>(&row[4 * (lane ^ 1)]);
  if (does == Does::load_misaligned) from += 8;
  if (does == Does::load_outside) from += sizeof(Rows);
  if (does == Does::load_global) from = reinterpret_cast<const unsigned char*>(a);
  ldmatrix<4>(r, from);
  if (does != Does::store_late) __syncwarp();
  stmatrix<4>(&row[4 * (does == Does::store_outside ? lane + 32 : lane)], r);
  __syncwarp();
  as<float4>(c[4 * lane]) = as<float4>(row[4 * lane]);
}

/// Only the addresses of the first lanes count, whatever those of the others are.
template <int count>
__global__ void few_matrices(float* a, float*, float* c, int) {
  auto& [row, other] = shared_storage<Rows>();
  std::uint32_t r[count];
  const int lane = row_of_lane();
  if (lane < 8 * count) as<float4>(row[4 * lane]) = as<float4>(a[4 * lane]);
  __syncwarp();
  ldmatrix<count>(r, lane < 8 * count ? &row[4 * lane] : nullptr);
  __syncwarp();
  stmatrix<count>(lane < 8 * count ? &row[4 * lane] : nullptr, r);
  __syncwarp();
  if (lane < 8 * count) as<float4>(c[4 * lane]) = as<float4>(row[4 * lane]);
}

/// The fragment of A of m16n8k16 out of rows that are 64 + padding elements long.
template <int padding>
__global__ void rows_of(float*, float*, float* c, int) {
  struct Tile {
    SharedArray<bf16, 16 * (64 + padding)> rows;
  };
  auto& [rows] = shared_storage<Tile>();
  const int lane = row_of_lane();
  for (int i = lane; i < 16 * (64 + padding); i += 32) rows[i] = {};
  __syncwarp();
  std::uint32_t r[4];
  ldmatrix<4>(r, &rows[lane % 16 * (64 + padding) + lane / 16 * 8]);
  c[lane] = static_cast<float>(r[0]);
}

constexpr unsigned rows_bytes = sizeof(Rows);
constexpr TestKernel tensor_fault_table[] = {
    entry<all_but_one>("all_but_one", 1, 32, 0, all_but_one_line),
    entry<two_instructions>("two_instructions", 1, 32, 0, two_instructions_line, two_instructions_line + 2),
    entry<two_places>("two_places", 1, 32, 0, two_places_line, two_places_line + 2),
    entry<one_missing>("one_missing", 1, 32, 0, one_missing_line, one_missing_line + 2),
    entry<matrices<Does::load_unwritten>>("load_unwritten", 1, 32, rows_bytes, matrices_line),
    entry<matrices<Does::load_misaligned>>("load_misaligned", 1, 32, rows_bytes, matrices_line),
    entry<matrices<Does::load_outside>>("load_outside", 1, 32, rows_bytes, matrices_line),
    entry<matrices<Does::load_global>>("load_global", 1, 32, rows_bytes, matrices_line),
    entry<matrices<Does::load_late>>("load_late", 1, 32, rows_bytes, matrices_line - 6, matrices_line),
    entry<matrices<Does::store_outside>>("store_outside", 1, 32, rows_bytes, matrices_line + 2),
    entry<matrices<Does::store_late>>("store_late", 1, 32, rows_bytes, matrices_line, matrices_line + 2),
};

constexpr TestKernel tensor_probe_table[] = {
    entry<matrices<Does::right>>("four matrices", 1, 32, rows_bytes),
    entry<few_matrices<1>>("one matrix", 1, 32, rows_bytes),
    entry<few_matrices<2>>("two matrices", 1, 32, rows_bytes),
    entry<rows_of<0>>("rows of 64", 1, 32, 4096),
    entry<rows_of<8>>("rows of 72", 1, 32, 4096),
};

TestKernels tensor_faults() { return {tensor_fault_table, std::size(tensor_fault_table)}; }
TestKernels tensor_probes() { return {tensor_probe_table, std::size(tensor_probe_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
