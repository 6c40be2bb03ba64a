#pragma once
// wgmma in all its forms: for the emulated machine, and for a GPU.
#include "device/launch.hpp"
#include "device/shared.hpp"
#include "fragments.cuh"
#include "layout/fragment.hpp"
#include "ptx/fence.hpp"
#include "ptx/wgmma.hpp"
#include "wgmma_case.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

/// An operand of MN x K elements, its rows (columns) in the swizzle's order, one span after the other.
template <Major major, TensorSwizzle swizzle, int MN, int K, int element_bytes>
struct Operand {
  static constexpr int span = (swizzle == TensorSwizzle::none ? 16 : span_of(swizzle)) / element_bytes;
  static constexpr int base = element_bytes == 1 ? 4 : element_bytes == 2 ? 3 : 2;

  static constexpr Layout make() {
    if constexpr (swizzle == TensorSwizzle::none)
      return major == Major::k ? Layout({MN / 8, 8, K / span, span}, {8 * span, span, MN * span, 1})
                               : Layout({MN / 8, 8, K / 8, 8}, {8 * K, 1, 64, 8});
    else if constexpr (major == Major::k)
      return Layout({MN, K / span, span}, {span, MN * span, 1}).swizzled(static_cast<int>(swizzle), base, 3);
    else
      return Layout({ceil_div(MN, span), span, K}, {span * K, 1, span}).swizzled(static_cast<int>(swizzle), base, 3);
  }
  static constexpr Layout layout = make();
  static constexpr int elements = layout.cosize();

  LAPIDARY_HD static constexpr int offset(int mn, int k) {
    constexpr Layout at = layout;
    if constexpr (swizzle == TensorSwizzle::none)
      return major == Major::k ? at(mn / 8, mn % 8, k / span, k % span) : at(mn / 8, mn % 8, k / 8, k % 8);
    else if constexpr (major == Major::k)
      return at(mn, k / span, k % span);
    else
      return at(mn / span, mn % span, k);
  }
  LAPIDARY_HD static constexpr std::uint64_t descriptor(std::uint32_t start, int k) {
    constexpr MatrixTile tile(layout, major, element_bytes);
    return tile.encoded(start, 0, k);
  }
};

template <class Form_, TensorSwizzle a_swizzle_, TensorSwizzle b_swizzle_, bool a_in_registers_>
struct Product {
  using Form = Form_;
  static constexpr TensorSwizzle a_swizzle = a_swizzle_, b_swizzle = b_swizzle_;
  static constexpr bool a_in_registers = a_in_registers_;
  static constexpr int K = 4 * Form::K;  // 128 bytes: up to four rows of a swizzle
  using A = Operand<Form::a_major, a_swizzle, Form::M, K, sizeof(typename Form::A)>;
  using B = Operand<Form::b_major, b_swizzle, Form::N, K, sizeof(typename Form::B)>;
  struct Storage {
    SharedArray<typename Form::A, A::elements, 1024> a;
    SharedArray<typename Form::B, B::elements, 1024> b;
  };
};

template <class P>
__global__ void multiply(const typename P::Form::A* a, const typename P::Form::B* b, typename P::Form::D* d) {
  using Form = typename P::Form;
  constexpr int M = Form::M, N = Form::N, K = P::K, packed = Form::packed;
  constexpr int d_packed = N / 2 / Form::d_registers;
  auto& [sA, sB] = shared_storage<typename P::Storage>();
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < M * K; i += 128) sA[P::A::offset(i / K, i % K)] = a[i];
  for (int i = thread; i < N * K; i += 128) sB[P::B::offset(i / K, i % K)] = b[i];
  fence_proxy_async();
  __syncthreads();

  typename Form::Accumulator rD[Form::d_registers];
  gather<typename Form::D, d_packed>(rD, [&](int i, int e) {
    const RowCol<int> at = wgmma_d(thread, i * d_packed + e);
    return d[at.row * N + at.col];
  });
  std::uint32_t rA[K / Form::K][Form::a_registers];
#pragma unroll
  for (int step = 0; step < K / Form::K; ++step)
    gather<typename Form::A, packed>(rA[step], [&](int i, int e) {
      const RowCol<int> at = wgmma_a(packed, thread, i, e);
      return a[at.row * K + step * Form::K + at.col];
    });

  const std::uint32_t start_a = shared_address(&sA[0]), start_b = shared_address(&sB[0]);
  if constexpr (P::a_in_registers) wgmma_fence(rA);
  wgmma_fence(rD);
#pragma unroll
  for (int step = 0; step < K / Form::K; ++step) {
    const int k = step * Form::K;
    if constexpr (P::a_in_registers)
      wgmma_mma_async<Form>(rD, rA[step], P::B::descriptor(start_b, k), true);
    else
      wgmma_mma_async<Form>(rD, P::A::descriptor(start_a, k), P::B::descriptor(start_b, k), true);
  }
  wgmma_commit_group();
  wgmma_wait_group<0>(rD);
  scatter<typename Form::D, d_packed>(rD, [&](int i, int e) -> typename Form::D& {
    const RowCol<int> at = wgmma_d(thread, i * d_packed + e);
    return d[at.row * N + at.col];
  });
}

template <class Form, TensorSwizzle a_swizzle, TensorSwizzle b_swizzle, bool a_in_registers = false>
constexpr WgmmaCase product(const char* types) {
  using P = Product<Form, a_swizzle, b_swizzle, a_in_registers>;
  return {types,
          emulator::number_of<typename Form::A>,
          emulator::number_of<typename Form::B>,
          emulator::number_of<typename Form::D>,
          Form::N,
          P::K,
          Form::a_major,
          Form::b_major,
          a_swizzle,
          b_swizzle,
          a_in_registers,
          Form::negate_a,
          Form::negate_b,
          [](const Stream& stream, const void* a, const void* b, void* d) {
            const LaunchShape shape{
                .kernel = "wgmma", .grid = 1, .block = 128, .shared_bytes = sizeof(typename P::Storage)};
            launch(stream, shape, multiply<P>, static_cast<const typename Form::A*>(a),
                   static_cast<const typename Form::B*>(b), static_cast<typename Form::D*>(d));
          }};
}

constexpr TensorSwizzle s0 = TensorSwizzle::none, s32 = TensorSwizzle::bytes32, s64 = TensorSwizzle::bytes64,
                        s128 = TensorSwizzle::bytes128;
template <class A, class B, class D, int N, bool negate_a = false, bool negate_b = false>
using KK = Wgmma<A, B, D, N, Major::k, Major::k, negate_a, negate_b>;
template <Major a_major, Major b_major, int N>
using Bf16 = Wgmma<bf16, bf16, float, N, a_major, b_major>;

constexpr WgmmaCase case_table[] = {
    product<KK<f16, f16, float, 8>, s128, s128>("f16 to f32"),
    product<KK<f16, f16, float, 256>, s64, s32>("f16 to f32"),
    product<KK<f16, f16, float, 72>, s0, s0, true>("f16 to f32"),
    product<KK<f16, f16, f16, 24>, s128, s0>("f16 to f16"),
    product<KK<f16, f16, f16, 256, true>, s32, s128>("f16 to f16"),
    product<KK<f16, f16, f16, 8, false, true>, s0, s64, true>("f16 to f16"),
    product<Bf16<Major::k, Major::k, 128>, s128, s128>("bf16 to f32"),
    product<Bf16<Major::k, Major::k, 128>, s64, s64>("bf16 to f32"),
    product<Bf16<Major::k, Major::k, 48>, s32, s32>("bf16 to f32"),
    product<Bf16<Major::k, Major::k, 200>, s0, s0>("bf16 to f32"),
    product<Bf16<Major::k, Major::mn, 128>, s128, s128>("bf16 to f32"),
    product<Bf16<Major::k, Major::mn, 96>, s64, s64>("bf16 to f32"),
    product<Bf16<Major::k, Major::mn, 40>, s32, s32>("bf16 to f32"),
    product<Bf16<Major::k, Major::mn, 64>, s0, s0>("bf16 to f32"),
    product<Bf16<Major::mn, Major::k, 64>, s128, s64>("bf16 to f32"),
    product<Bf16<Major::mn, Major::k, 64>, s64, s128>("bf16 to f32"),
    product<Bf16<Major::mn, Major::mn, 256>, s32, s128>("bf16 to f32"),
    product<Bf16<Major::mn, Major::mn, 8>, s0, s128>("bf16 to f32"),
    product<Bf16<Major::k, Major::mn, 128>, s128, s128, true>("bf16 to f32"),
    product<KK<bf16, bf16, float, 64, true, true>, s128, s128>("bf16 to f32"),
    product<KK<tf32, tf32, float, 64>, s128, s128>("tf32 to f32"),
    product<KK<tf32, tf32, float, 40>, s0, s32>("tf32 to f32"),
    product<KK<tf32, tf32, float, 128, true>, s64, s64, true>("tf32 to f32"),
    product<KK<e4m3, e4m3, float, 128>, s128, s128>("e4m3 to f32"),
    product<KK<e5m2, e4m3, float, 56>, s64, s0>("e5m2 by e4m3 to f32"),
    product<KK<e4m3, e5m2, float, 32>, s32, s64, true>("e4m3 by e5m2 to f32"),
    product<KK<e5m2, e5m2, f16, 64>, s0, s128>("e5m2 to f16"),
    product<KK<e4m3, e4m3, f16, 16, false, true>, s128, s32, true>("e4m3 to f16"),
    product<KK<std::int8_t, std::int8_t, std::int32_t, 128>, s128, s128>("s8 to s32"),
    product<KK<std::uint8_t, std::int8_t, std::int32_t, 24>, s0, s64>("u8 by s8 to s32"),
    product<KK<std::int8_t, std::uint8_t, std::int32_t, 256>, s32, s32, true>("s8 by u8 to s32"),
};

std::span<const WgmmaCase> wgmma_cases() { return case_table; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
