// Tensor cores by CUDA's warp matrix functions: a warp has 16 x 16 of the results; A and B come through shared memory.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 16, PITCH = TILE + 8;

__global__ void wmma_gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ __align__(32) half As[TILE * PITCH];
  __shared__ __align__(32) half Bs[TILE * PITCH];
  __shared__ __align__(32) float Cs[TILE * TILE];
  const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
  wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k0 = 0; k0 < K; k0 += TILE) {
    for (int i = threadIdx.x; i < TILE * TILE; i += 32) {
      const int y = i / TILE, x = i % TILE;
      As[y * PITCH + x] = row0 + y < M && k0 + x < K ? A[(row0 + y) * K + k0 + x] : __float2half(0.0f);
      Bs[y * PITCH + x] = k0 + y < K && col0 + x < N ? B[(k0 + y) * N + col0 + x] : __float2half(0.0f);
    }
    __syncthreads();
    wmma::load_matrix_sync(a, As, PITCH);
    wmma::load_matrix_sync(b, Bs, PITCH);
    wmma::mma_sync(sum, a, b, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(Cs, sum, TILE, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < TILE * TILE; i += 32)
    if (row0 + i / TILE < M && col0 + i % TILE < N) C[(row0 + i / TILE) * N + col0 + i % TILE] = Cs[i];
}

void launch(const half* A, const half* B, float* C, int M, int N, int K) {
  dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  wmma_gemm<<<grid, 32>>>(A, B, C, M, N, K);
}
