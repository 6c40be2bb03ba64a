// Products of tensor cores whose operands ldmatrix loads: four, two or one 8 x 8 matrix at a time, with its qualifiers
// in various orders. All of them are legal.
#include <cuda_bf16.h>

#include <cstdint>

template <int at_a_time>
__global__ void gemm(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int M, int N, int K) {
  __shared__ __align__(16) __nv_bfloat16 As[16][16], Bs[16][16];
  const int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 16;
  float sum[2][4] = {};
  for (int k = 0; k < K; k += 16) {
    *reinterpret_cast<uint4*>(&As[lane / 2][lane % 2 * 8]) = *reinterpret_cast<const uint4*>(
        &A[(row + lane / 2) * K + k + lane % 2 * 8]);
    *reinterpret_cast<uint4*>(&Bs[lane / 2][lane % 2 * 8]) = *reinterpret_cast<const uint4*>(
        &B[(k + lane / 2) * N + col + lane % 2 * 8]);
    __syncthreads();
    std::uint32_t a[4], b[4];
    // Lane i gives the address of row i % 8 of matrix i / 8, as many as there are.
    for (int i = 0; i < 4; i += at_a_time) {
      const int matrix = i + lane / 8 % at_a_time, high = matrix % 2 * 8, right = matrix / 2 * 8;
      const std::uint32_t from_a = __cvta_generic_to_shared(&As[high + lane % 8][right]);
      const std::uint32_t from_b = __cvta_generic_to_shared(&Bs[high + lane % 8][right]);
      if (at_a_time == 4) {
        asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                     : "r"(from_a));
        asm volatile("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                     : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                     : "r"(from_b));
      } else if (at_a_time == 2) {
        asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];\n"
                     : "=r"(a[i]), "=r"(a[i + 1])
                     : "r"(from_a));
        asm volatile("ldmatrix.sync.aligned.m8n8.trans.x2.shared::cta.b16 {%0, %1}, [%2];\n"
                     : "=r"(b[i]), "=r"(b[i + 1])
                     : "r"(from_b));
      } else {
        asm volatile("ldmatrix.m8n8.x1.sync.aligned.b16.shared {%0}, [%1];\n" : "=r"(a[i]) : "r"(from_a));
        asm volatile("ldmatrix.sync.aligned.trans.shared.x1.m8n8.b16 {%0}, [%1];\n" : "=r"(b[i]) : "r"(from_b));
      }
    }
    for (int half = 0; half < 2; ++half)
      asm volatile(
          "mma.sync.aligned.row.col.m16n8k16.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};\n"
          : "+f"(sum[half][0]), "+f"(sum[half][1]), "+f"(sum[half][2]), "+f"(sum[half][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * half]), "r"(b[2 * half + 1]));
    __syncthreads();
  }
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < 4; ++i)
      C[(row + lane / 4 + i / 2 * 8) * N + col + half * 8 + lane % 4 * 2 + i % 2] = sum[half][i];
}
