// Warp matrix functions, where both operands and the sum lie in __device__ variables. M, N and K must be multiples
// of 16.
#include <cuda_fp16.h>
#include <mma.h>

namespace wmma = nvcuda::wmma;

#define MOST 65536

__device__ __align__(32) half a_copy[MOST], b_copy[MOST];
__device__ __align__(32) float sums[MOST];

__global__ void wmma_variables(const half* A, const half* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16, col = blockIdx.x * 16, lane = threadIdx.x;
  half* const a_mine = &a_copy[(blockIdx.y * gridDim.x + blockIdx.x) * 256];
  half* const b_mine = &b_copy[(blockIdx.y * gridDim.x + blockIdx.x) * 256];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < K; k += 16) {
    for (int i = lane; i < 256; i += 32) {
      a_mine[i] = A[(row + i / 16) * K + k + i % 16];
      b_mine[i] = B[(k + i / 16) * N + col + i % 16];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::load_matrix_sync(a, a_mine, 16);
    wmma::load_matrix_sync(b, b_mine, 16);
    wmma::mma_sync(sum, a, b, sum);
    __syncwarp();
  }
  wmma::store_matrix_sync(&sums[row * N + col], sum, N, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < 256; i += 32) C[(row + i / 16) * N + col + i % 16] = sums[(row + i / 16) * N + col + i % 16];
}

void launch(const half* A, const half* B, float* C, int M, int N, int K) {
  wmma_variables<<<dim3(N / 16, M / 16), 32>>>(A, B, C, M, N, K);
}
