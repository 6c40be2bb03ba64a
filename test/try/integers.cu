// Sizes in small letters beside a tile in capitals, factors that are integers, and several loads a thread: 64 threads
// bring tiles of 32 x 8 and 8 x 32, and have 16 results each.
#include <cuda_runtime.h>
#define M 32
#define N 32
#define K 8

__global__ void sgemm(const float* A, const float* B, float* C, int m, int n, int k, int alpha, int beta) {
  __shared__ float As[M][K], Bs[K][N];
  const int row0 = blockIdx.y * M, col0 = blockIdx.x * N;
  const int row = threadIdx.x / N * 16, col = threadIdx.x % N;
  float sum[16] = {};
  for (int k0 = 0; k0 < k; k0 += K) {
    for (int i = threadIdx.x; i < M * K; i += blockDim.x) {
      const int y = row0 + i / K, ka = k0 + i % K, kb = k0 + i / N, x = col0 + i % N;
      As[i / K][i % K] = y < m && ka < k ? A[y * k + ka] : 0;
      Bs[i / N][i % N] = kb < k && x < n ? B[kb * n + x] : 0;
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < K; ++j) sum[i] += As[row + i][j] * Bs[j][col];
    __syncthreads();
  }
  for (int i = 0; i < 16; ++i) {
    float* c = &C[(row0 + row + i) * n + col0 + col];
    if (row0 + row + i < m && col0 + col < n) *c = alpha * sum[i] + beta * *c;
  }
}

void launch(const float* A, const float* B, float* C, int m, int n, int k) {
  sgemm<<<dim3((n + N - 1) / N, (m + M - 1) / M), 64>>>(A, B, C, m, n, k, 1, 0);
}
