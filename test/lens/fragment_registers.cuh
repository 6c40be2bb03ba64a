// Products of registers, and of bytes of shared memory, as they are given: who has which element is their giver's
// affair.
#include "fragment_product.hpp"

#include "device/launch.hpp"
#include "device/shared.hpp"
#include "ptx/fence.hpp"
#include "ptx/mma.hpp"
#include "ptx/wgmma.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

template <class Register, int count>
LAPIDARY_DEVICE void take(Register (&registers)[count], const void* all) {
#pragma unroll
  for (int i = 0; i < count; ++i)
    registers[i] = static_cast<const Register*>(all)[static_cast<int>(threadIdx.x) * count + i];
}

template <class Register, int count>
LAPIDARY_DEVICE void give(void* all, const Register (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) static_cast<Register*>(all)[static_cast<int>(threadIdx.x) * count + i] = registers[i];
}

template <class Form>
__global__ void multiply_in_warp(const void* a, const void* b, const void* c, void* d) {
  typename Form::Register rA[Form::a_registers], rB[Form::b_registers];
  typename Form::Accumulator rD[Form::d_registers];
  take(rA, a);
  take(rB, b);
  take(rD, c);
  mma_sync<Form>(rD, rA, rB, rD);
  give(d, rD);
}

/// Tiles of at most 8 KiB.
struct SharedTiles {
  SharedArray<std::uint32_t, 2048, 1024> a, b;
};

template <class Form, bool a_in_registers>
__global__ void multiply_in_warpgroup(const std::uint32_t* a, const std::uint32_t* b, const void* c, void* d,
                                      ProductInMemory where) {
  auto& [sA, sB] = shared_storage<SharedTiles>();
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < where.a_bytes / 4; i += 128) sA[i] = a[i];
  for (int i = thread; i < where.b_bytes / 4; i += 128) sB[i] = b[i];
  fence_proxy_async();
  __syncthreads();
  std::uint32_t rA[Form::a_registers] = {};
  typename Form::Accumulator rD[Form::d_registers];
  if constexpr (a_in_registers) take(rA, a);
  take(rD, c);
  const std::uint64_t a_at = where.a_descriptor + shared_address(&sA[0]) / 16,
                      b_at = where.b_descriptor + shared_address(&sB[0]) / 16;
  wgmma_fence(rA);
  wgmma_fence(rD);
  if constexpr (a_in_registers)
    wgmma_mma_async<Form>(rD, rA, b_at, true);
  else
    wgmma_mma_async<Form>(rD, a_at, b_at, true);
  wgmma_commit_group();
  wgmma_wait_group<0>(rD);
  give(d, rD);
}

template <class Form>
constexpr FragmentProduct of_warp(const char* name) {
  return {name, [](const Stream& stream, const void* a, const void* b, const void* c, void* d, const ProductInMemory&) {
            launch(stream, {.kernel = name_of_kernel, .grid = 1, .block = 32}, multiply_in_warp<Form>, a, b, c, d);
          }};
}

template <class Form, bool a_in_registers>
constexpr FragmentProduct of_warpgroup(const char* name) {
  return {name,
          [](const Stream& stream, const void* a, const void* b, const void* c, void* d, const ProductInMemory& where) {
            const LaunchShape shape{
                .kernel = name_of_kernel, .grid = 1, .block = 128, .shared_bytes = sizeof(SharedTiles)};
            launch(stream, shape, multiply_in_warpgroup<Form, a_in_registers>, static_cast<const std::uint32_t*>(a),
                   static_cast<const std::uint32_t*>(b), c, d, where);
          }};
}

constexpr FragmentProduct products_table[] = {
    of_warp<Mma<bf16, bf16, float, 16, 8, 8>>("mma m16n8k8 bf16"),
    of_warp<Mma<bf16, bf16, float, 16, 8, 16>>("mma m16n8k16 bf16"),
    of_warp<Mma<f16, f16, f16, 16, 8, 16>>("mma m16n8k16 f16/f16"),
    of_warp<Mma<tf32, tf32, float, 16, 8, 4>>("mma m16n8k4 tf32"),
    of_warp<Mma<tf32, tf32, float, 16, 8, 8>>("mma m16n8k8 tf32"),
    of_warp<Mma<std::int8_t, std::int8_t, std::int32_t, 16, 8, 16>>("mma m16n8k16 s8"),
    of_warp<Mma<std::uint8_t, std::int8_t, std::int32_t, 16, 8, 32>>("mma m16n8k32 u8 s8"),
    of_warp<Mma<e4m3, e5m2, float, 16, 8, 32>>("mma m16n8k32 e4m3 e5m2"),
    of_warp<Mma<double, double, double, 8, 8, 4>>("mma m8n8k4 f64"),
    of_warp<Mma<double, double, double, 16, 8, 16>>("mma m16n8k16 f64"),
    of_warpgroup<Wgmma<bf16, bf16, float, 8>, true>("wgmma m64n8k16 bf16"),
    of_warpgroup<Wgmma<bf16, bf16, float, 8, Major::k, Major::mn>, true>("wgmma m64n8k16 bf16 b=mn"),
    of_warpgroup<Wgmma<bf16, bf16, float, 8>, false>("wgmma m64n8k16 bf16 a=k"),
    of_warpgroup<Wgmma<bf16, bf16, float, 8, Major::mn, Major::k>, false>("wgmma m64n8k16 bf16 a=mn"),
    of_warpgroup<Wgmma<tf32, tf32, float, 8>, true>("wgmma m64n8k8 tf32"),
    of_warpgroup<Wgmma<e4m3, e4m3, f16, 8>, true>("wgmma m64n8k32 e4m3/f16"),
    of_warpgroup<Wgmma<std::uint8_t, std::int8_t, std::int32_t, 8>, false>("wgmma m64n8k32 u8 s8 a=k"),
};

std::span<const FragmentProduct> fragment_products() { return products_table; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
