// Warp matrix functions of bfloat16 on global memory: 8 x 32 results a warp, B column-major. M, N and K must be
// multiples of 8, 32 and 16.
#include <cuda_bf16.h>
#include <mma.h>

namespace wmma = nvcuda::wmma;

__global__ void wmma_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 8, col = blockIdx.x * 32;
  wmma::fragment<wmma::accumulator, 8, 32, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < K; k += 16) {
    wmma::fragment<wmma::matrix_a, 8, 32, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, __nv_bfloat16, wmma::col_major> b;
    wmma::load_matrix_sync(a, A + row * K + k, K);
    wmma::load_matrix_sync(b, B + col * K + k, K);
    wmma::mma_sync(sum, a, b, sum);
  }
  wmma::store_matrix_sync(C + row * N + col, sum, N, wmma::mem_row_major);
}

void launch(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int M, int N, int K) {
  wmma_bf16<<<dim3(N / 32, M / 8), 32>>>(A, B, C, M, N, K);
}
