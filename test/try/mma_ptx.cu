// Tensor Cores by inline PTX: 64 x 64 results a block, 32 x 32 of each of its four warps, from tiles of 64 x 32 of A,
// row-major, and of B, column-major, with 8 elements of padding a row. M, N and K must be multiples of the tile.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int BM = 64, BN = 64, BK = 32, PITCH = BK + 8;

#define COPY_16_BYTES(shared, global) \
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(16) : "memory")

__device__ unsigned shared_address(const void* p) {
  unsigned address;
  asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(address) : "l"(p));
  return address;
}

// Two matrices of 8 x 8, of which lanes 0 to 15 name the rows; the addresses of other lanes do not count.
__device__ void load_matrices(unsigned (&r)[2], const __nv_bfloat16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row)));
}
__device__ void load_matrix(unsigned& r, const __nv_bfloat16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(shared_address(row)));
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[2], unsigned b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
}

__global__ void __launch_bounds__(128)
    bgemm(int M, int N, int K, const __nv_bfloat16* A, const __nv_bfloat16* B, float* C) {
  __shared__ __align__(16) __nv_bfloat16 As[BM * PITCH], Bs[BN * PITCH];
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / 2 * 32, col = warp % 2 * 32;
  float sum[2][4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x * 8; i < BM * BK; i += 128 * 8) {
      const int y = i / BK, k = i % BK;
      COPY_16_BYTES(shared_address(&As[y * PITCH + k]), &A[(row0 + y) * K + k0 + k]);
      COPY_16_BYTES(shared_address(&Bs[y * PITCH + k]), &B[(col0 + y) * K + k0 + k]);
    }
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;\n" ::: "memory");
    __syncthreads();
    for (int k = 0; k < BK; k += 8) {
      unsigned a[2][2], b[4];
      for (int i = 0; i < 2; ++i) load_matrices(a[i], &As[(row + 16 * i + lane % 16) * PITCH + k]);
      for (int j = 0; j < 4; ++j) load_matrix(b[j], &Bs[(col + 8 * j + lane % 8) * PITCH + k]);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) multiply(sum[i][j], a[i], b[j]);
    }
    __syncthreads();
  }
  // A lane has two neighbours of row lane / 4, and two of the row 8 below.
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 4; ++e) {
        const int y = row0 + row + 16 * i + lane / 4 + e / 2 * 8, x = col0 + col + 8 * j + lane % 4 * 2 + e % 2;
        C[y * N + x] = sum[i][j][e];
      }
}

void launch(int M, int N, int K, const __nv_bfloat16* A, const __nv_bfloat16* B, float* C) {
  bgemm<<<dim3(N / BN, M / BM), 128>>>(M, N, K, A, B, C);
}
