// 8 x 8 results a thread, from tiles of A and B that lie in shared memory as they come or transposed.
#include <cuda_runtime.h>

constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 8;
constexpr int THREADS = 256;

// A's tile is [m][k], transposed [k][m]; B's is [k][n], transposed [n][k]. `unroll` is of the loop over k.
template <bool transpose_a, bool transpose_b, int unroll>
__global__ void __launch_bounds__(THREADS) product(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  const auto a = [](int m, int k) { return transpose_a ? k * BM + m : m * BK + k; };
  const auto b = [](int k, int n) { return transpose_b ? n * BK + k : k * BN + n; };
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, tid = threadIdx.x;
  const int row = tid / 16 * 8, col = tid % 16 * 8;
  float sum[8][8] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int t = 0; t < BM * BK; t += THREADS) {
      const int m = (t + tid) / BK, k = (t + tid) % BK;
      As[a(m, k)] = row0 + m < M && k0 + k < K ? A[(row0 + m) * K + k0 + k] : 0;
    }
    for (int t = 0; t < BK * BN; t += THREADS) {
      const int k = (t + tid) / BN, n = (t + tid) % BN;
      Bs[b(k, n)] = k0 + k < K && col0 + n < N ? B[(k0 + k) * N + col0 + n] : 0;
    }
    __syncthreads();
#pragma unroll unroll
    for (int k = 0; k < BK; ++k) {
      float rA[8], rB[8];
      for (int i = 0; i < 8; ++i) rA[i] = As[a(row + i, k)];
      for (int j = 0; j < 8; ++j) rB[j] = Bs[b(k, col + j)];
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) sum[i][j] += rA[i] * rB[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      if (row0 + row + i < M && col0 + col + j < N) C[(row0 + row + i) * N + col0 + col + j] = sum[i][j];
}

void launch(int M, int N, int K, const float* A, const float* B, float* C) {
  const dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
  product<false, false, BK><<<grid, THREADS>>>(M, N, K, A, B, C);
  product<true, false, BK><<<grid, THREADS>>>(M, N, K, A, B, C);
  product<false, true, BK><<<grid, THREADS>>>(M, N, K, A, B, C);
  product<true, true, BK><<<grid, THREADS>>>(M, N, K, A, B, C);
  product<false, false, 1><<<grid, THREADS>>>(M, N, K, A, B, C);
  product<true, false, 1><<<grid, THREADS>>>(M, N, K, A, B, C);
  product<false, true, 1><<<grid, THREADS>>>(M, N, K, A, B, C);
  product<true, true, 1><<<grid, THREADS>>>(M, N, K, A, B, C);
}
