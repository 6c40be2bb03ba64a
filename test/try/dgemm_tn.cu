// The signature of dgemm with A transposed: in its columns stands what is summed over, as in B's.
#include <cuda_runtime.h>

template <typename T, int TILE>
__global__ void gemm_tn(int m, int n, int k, T alpha, const T* A, int lda, const T* B, int ldb, T beta, T* C, int ldc) {
  __shared__ T sA[TILE][TILE + 1];
  __shared__ T sB[TILE][TILE + 1];
  int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
  T sum = 0;
  for (int p = 0; p < k; p += TILE) {
    bool inside = p + threadIdx.x < k;
    sA[threadIdx.y][threadIdx.x] = inside && row + threadIdx.y < m ? A[p + threadIdx.x + (row + threadIdx.y) * lda] : 0;
    sB[threadIdx.y][threadIdx.x] = inside && col + threadIdx.y < n ? B[p + threadIdx.x + (col + threadIdx.y) * ldb] : 0;
    __syncthreads();
    for (int q = 0; q < TILE; ++q) sum += sA[threadIdx.x][q] * sB[threadIdx.y][q];
    __syncthreads();
  }
  row += threadIdx.x;
  col += threadIdx.y;
  if (row < m && col < n) C[row + col * ldc] = alpha * sum + beta * C[row + col * ldc];
}

void dgemm(int m, int n, int k, double alpha, const double* A, int lda, const double* B, int ldb, double beta,
           double* C, int ldc) {
  const int tile = 16;
  dim3 block(tile, tile), grid((n + tile - 1) / tile, (m + tile - 1) / tile);
  gemm_tn<double, tile><<<grid, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}
