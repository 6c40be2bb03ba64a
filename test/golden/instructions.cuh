// Every instruction of tensor cores on tiles in global memory: one block of one warp, or of one warpgroup, a tile.
#include "../emulator/fragments.cuh"
#include "instruction.hpp"

#include "device/launch.hpp"
#include "device/shared.hpp"
#include "layout/fragment.hpp"
#include "ptx/fence.hpp"
#include "ptx/ldmatrix.hpp"
#include "ptx/mma.hpp"
#include "ptx/wgmma.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

template <class Form>
__global__ void multiply_tiles(const typename Form::A* a, const typename Form::B* b, const typename Form::D* c,
                               typename Form::D* d) {
  constexpr int M = Form::M, N = Form::N, K = Form::K, packed = Form::packed;
  constexpr int d_packed = M * N / 32 / Form::d_registers;
  const int lane = static_cast<int>(threadIdx.x);
  a += blockIdx.x * (M * K);
  b += blockIdx.x * (N * K);
  c += blockIdx.x * (M * N);
  d += blockIdx.x * (M * N);
  typename Form::Register rA[Form::a_registers], rB[Form::b_registers];
  typename Form::Accumulator rC[Form::d_registers], rD[Form::d_registers];
  gather<typename Form::A, packed>(rA, [&](int i, int e) {
    const RowCol<int> at = mma_a(packed, lane, i, e);
    return a[at.row * K + at.col];
  });
  gather<typename Form::B, packed>(rB, [&](int i, int e) {
    const RowCol<int> at = mma_b(packed, lane, i, e);
    return b[at.col * K + at.row];
  });
  gather<typename Form::D, d_packed>(rC, [&](int i, int e) {
    const RowCol<int> at = mma_d(lane, i * d_packed + e);
    return c[at.row * N + at.col];
  });
  mma_sync<Form>(rD, rA, rB, rC);
  scatter<typename Form::D, d_packed>(rD, [&](int i, int e) -> typename Form::D& {
    const RowCol<int> at = mma_d(lane, i * d_packed + e);
    return d[at.row * N + at.col];
  });
}

/// An operand of wgmma in rows of 32 bytes.
template <class T, int MN>
struct WgmmaTile {
  static constexpr int K = static_cast<int>(32 / sizeof(T));
  static constexpr Layout layout = row_major(MN, K).swizzled(1, sizeof(T) == 1 ? 4 : sizeof(T) == 2 ? 3 : 2, 3);
};

template <class Form>
struct WgmmaStorage {
  SharedArray<typename Form::A, Form::M * Form::K, 256> a;
  SharedArray<typename Form::B, Form::N * Form::K, 256> b;
};

template <class Form, bool a_in_registers>
__global__ void multiply_products(const typename Form::A* a, const typename Form::B* b, const typename Form::D* c,
                                  typename Form::D* d) {
  constexpr int M = Form::M, N = Form::N, K = Form::K, packed = Form::packed;
  constexpr int d_packed = N / 2 / Form::d_registers;
  constexpr Layout layout_a = WgmmaTile<typename Form::A, M>::layout, layout_b = WgmmaTile<typename Form::B, N>::layout;
  auto& [sA, sB] = shared_storage<WgmmaStorage<Form>>();
  const int thread = static_cast<int>(threadIdx.x);
  a += blockIdx.x * (M * K);
  b += blockIdx.x * (N * K);
  c += blockIdx.x * (M * N);
  d += blockIdx.x * (M * N);
  for (int i = thread; i < M * K; i += 128) sA[layout_a(i / K, i % K)] = a[i];
  for (int i = thread; i < N * K; i += 128) sB[layout_b(i / K, i % K)] = b[i];
  fence_proxy_async();
  __syncthreads();
  std::uint32_t rA[Form::a_registers];
  typename Form::Accumulator rD[Form::d_registers];
  gather<typename Form::A, packed>(rA, [&](int i, int e) {
    const RowCol<int> at = wgmma_a(packed, thread, i, e);
    return a[at.row * K + at.col];
  });
  gather<typename Form::D, d_packed>(rD, [&](int i, int e) {
    const RowCol<int> at = wgmma_d(thread, i * d_packed + e);
    return c[at.row * N + at.col];
  });
  constexpr MatrixTile tile_a(layout_a, Major::k, sizeof(typename Form::A));
  constexpr MatrixTile tile_b(layout_b, Major::k, sizeof(typename Form::B));
  const std::uint64_t descriptor_a = tile_a.encoded(shared_address(&sA[0])),
                      descriptor_b = tile_b.encoded(shared_address(&sB[0]));
  wgmma_fence(rA);
  wgmma_fence(rD);
  if constexpr (a_in_registers)
    wgmma_mma_async<Form>(rD, rA, descriptor_b, true);
  else
    wgmma_mma_async<Form>(rD, descriptor_a, descriptor_b, true);
  wgmma_commit_group();
  wgmma_wait_group<0>(rD);
  scatter<typename Form::D, d_packed>(rD, [&](int i, int e) -> typename Form::D& {
    const RowCol<int> at = wgmma_d(thread, i * d_packed + e);
    return d[at.row * N + at.col];
  });
}

/// a: 32 rows of 8 elements of shared memory; d: the registers of each lane.
template <int count, bool transposed>
__global__ void load_matrices(const float4* a, std::uint32_t* d) {
  __shared__ float4 rows[32];
  const unsigned lane = threadIdx.x;
  rows[lane] = a[blockIdx.x * 32 + lane];
  __syncwarp();
  std::uint32_t registers[count];
  // Rows in an order of their own, and no addresses where none count.
  ldmatrix<count, transposed>(registers, &rows[lane < 8 * count ? lane * 5 % 32 : 0]);
#pragma unroll
  for (int i = 0; i < count; ++i) d[(blockIdx.x * 32 + lane) * count + static_cast<unsigned>(i)] = registers[i];
}

/// The reverse: a, the registers of each lane; c, what shared memory holds before; d, what it holds after.
template <int count, bool transposed>
__global__ void store_matrices(const std::uint32_t* a, const float4* c, float4* d) {
  __shared__ float4 rows[32];
  const unsigned lane = threadIdx.x;
  rows[lane] = c[blockIdx.x * 32 + lane];
  __syncwarp();
  std::uint32_t registers[count];
#pragma unroll
  for (int i = 0; i < count; ++i) registers[i] = a[(blockIdx.x * 32 + lane) * count + static_cast<unsigned>(i)];
  stmatrix<count, transposed>(&rows[lane < 8 * count ? lane * 5 % 32 : 0], registers);
  __syncwarp();
  d[blockIdx.x * 32 + lane] = rows[lane];
}

LaunchShape one_warp_a_tile(const char* name, int tiles) { return {.kernel = name, .grid = tiles, .block = 32}; }

template <class A, class B, class D, int M, int N, int K, bool saturate = false>
constexpr Instruction mma(const char* name) {
  using Form = Mma<A, B, D, M, N, K, saturate>;
  return {name,
          {emulator::number_of<A>, M * K},
          {emulator::number_of<B>, N * K},
          {emulator::number_of<D>, M * N},
          {emulator::number_of<D>, M * N},
          [](const Stream& stream, int tiles, const void* a, const void* b, const void* c, void* d) {
            launch(stream, one_warp_a_tile("mma_sync", tiles), multiply_tiles<Form>, static_cast<const A*>(a),
                   static_cast<const B*>(b), static_cast<const D*>(c), static_cast<D*>(d));
          }};
}

template <class A, class B, class D, bool a_in_registers = false>
constexpr Instruction wgmma(const char* name) {
  using Form = Wgmma<A, B, D, 8>;
  return {name,
          {emulator::number_of<A>, Form::M * Form::K},
          {emulator::number_of<B>, Form::N * Form::K},
          {emulator::number_of<D>, Form::M * Form::N},
          {emulator::number_of<D>, Form::M * Form::N},
          [](const Stream& stream, int tiles, const void* a, const void* b, const void* c, void* d) {
            const LaunchShape shape{
                .kernel = "wgmma", .grid = tiles, .block = 128, .shared_bytes = sizeof(WgmmaStorage<Form>)};
            launch(stream, shape, multiply_products<Form, a_in_registers>, static_cast<const A*>(a),
                   static_cast<const B*>(b), static_cast<const D*>(c), static_cast<D*>(d));
          }};
}

template <int count, bool transposed>
constexpr Instruction load(const char* name) {
  return {name,
          {emulator::Number::f16, 256},
          {},
          {},
          {emulator::Number::f16, 64 * count},
          [](const Stream& stream, int tiles, const void* a, const void*, const void*, void* d) {
            launch(stream, one_warp_a_tile("ldmatrix", tiles), load_matrices<count, transposed>,
                   static_cast<const float4*>(a), static_cast<std::uint32_t*>(d));
          }};
}

template <int count, bool transposed>
constexpr Instruction store(const char* name) {
  return {name,
          {emulator::Number::f16, 64 * count},
          {},
          {emulator::Number::f16, 256},
          {emulator::Number::f16, 256},
          [](const Stream& stream, int tiles, const void* a, const void*, const void* c, void* d) {
            launch(stream, one_warp_a_tile("stmatrix", tiles), store_matrices<count, transposed>,
                   static_cast<const std::uint32_t*>(a), static_cast<const float4*>(c), static_cast<float4*>(d));
          }};
}

constexpr Instruction instruction_table[] = {
    mma<f16, f16, float, 16, 8, 8>("mma.sync.m16n8k8.f32.f16.f16.f32"),
    mma<f16, f16, float, 16, 8, 16>("mma.sync.m16n8k16.f32.f16.f16.f32"),
    mma<f16, f16, f16, 16, 8, 8>("mma.sync.m16n8k8.f16.f16.f16.f16"),
    mma<f16, f16, f16, 16, 8, 16>("mma.sync.m16n8k16.f16.f16.f16.f16"),
    mma<bf16, bf16, float, 16, 8, 8>("mma.sync.m16n8k8.f32.bf16.bf16.f32"),
    mma<bf16, bf16, float, 16, 8, 16>("mma.sync.m16n8k16.f32.bf16.bf16.f32"),
    mma<tf32, tf32, float, 16, 8, 4>("mma.sync.m16n8k4.f32.tf32.tf32.f32"),
    mma<tf32, tf32, float, 16, 8, 8>("mma.sync.m16n8k8.f32.tf32.tf32.f32"),
    mma<e4m3, e4m3, float, 16, 8, 32>("mma.sync.m16n8k32.f32.e4m3.e4m3.f32"),
    mma<e5m2, e5m2, float, 16, 8, 32>("mma.sync.m16n8k32.f32.e5m2.e5m2.f32"),
    mma<e4m3, e5m2, float, 16, 8, 32>("mma.sync.m16n8k32.f32.e4m3.e5m2.f32"),
    mma<std::int8_t, std::int8_t, std::int32_t, 16, 8, 16>("mma.sync.m16n8k16.s32.s8.s8.s32"),
    mma<std::int8_t, std::int8_t, std::int32_t, 16, 8, 32>("mma.sync.m16n8k32.s32.s8.s8.s32"),
    mma<std::uint8_t, std::int8_t, std::int32_t, 16, 8, 32>("mma.sync.m16n8k32.s32.u8.s8.s32"),
    mma<std::int8_t, std::int8_t, std::int32_t, 16, 8, 32, true>("mma.sync.m16n8k32.satfinite.s32.s8.s8.s32"),
    mma<double, double, double, 8, 8, 4>("mma.sync.m8n8k4.f64.f64.f64.f64"),
    mma<double, double, double, 16, 8, 16>("mma.sync.m16n8k16.f64.f64.f64.f64"),
    wgmma<f16, f16, float>("wgmma.m64n8k16.f32.f16.f16"),
    wgmma<f16, f16, f16>("wgmma.m64n8k16.f16.f16.f16"),
    wgmma<bf16, bf16, float>("wgmma.m64n8k16.f32.bf16.bf16"),
    wgmma<bf16, bf16, float, true>("wgmma.m64n8k16.f32.bf16.bf16.registers"),
    wgmma<tf32, tf32, float>("wgmma.m64n8k8.f32.tf32.tf32"),
    wgmma<e4m3, e4m3, float>("wgmma.m64n8k32.f32.e4m3.e4m3"),
    wgmma<e5m2, e5m2, float>("wgmma.m64n8k32.f32.e5m2.e5m2"),
    wgmma<e4m3, e5m2, float>("wgmma.m64n8k32.f32.e4m3.e5m2"),
    wgmma<e4m3, e4m3, f16>("wgmma.m64n8k32.f16.e4m3.e4m3"),
    wgmma<e5m2, e5m2, f16>("wgmma.m64n8k32.f16.e5m2.e5m2"),
    wgmma<std::int8_t, std::int8_t, std::int32_t>("wgmma.m64n8k32.s32.s8.s8"),
    wgmma<std::uint8_t, std::int8_t, std::int32_t>("wgmma.m64n8k32.s32.u8.s8"),
    load<1, false>("ldmatrix.x1"),
    load<2, false>("ldmatrix.x2"),
    load<4, false>("ldmatrix.x4"),
    load<1, true>("ldmatrix.x1.trans"),
    load<2, true>("ldmatrix.x2.trans"),
    load<4, true>("ldmatrix.x4.trans"),
    store<1, false>("stmatrix.x1"),
    store<2, false>("stmatrix.x2"),
    store<4, false>("stmatrix.x4"),
    store<1, true>("stmatrix.x1.trans"),
    store<2, true>("stmatrix.x2.trans"),
    store<4, true>("stmatrix.x4.trans"),
};

std::span<const Instruction> instructions() { return instruction_table; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
