// Warp tiles: 128 x 128 x 8 a block, cut into 32 tiles of 16 x 32, of which each of 8 warps takes four: neighbours in a
// row, or with a stride of 8, which are below each other. A lane has 4 x 4 results of each.
#include <cuda_runtime.h>

constexpr int BM = 128, BN = 128, BK = 8, WM = 16, WN = 32, THREADS = 256;

template <bool strided, bool transposed>
__global__ void __launch_bounds__(THREADS) sgemm(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  const auto a = [](int m, int k) { return transposed ? k * BM + m : m * BK + k; };
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto row = [=](int t) { return (strided ? t * 8 + warp : warp * 4 + t) / (BN / WN) * WM + lane / 8 * 4; };
  const auto col = [=](int t) { return (strided ? t * 8 + warp : warp * 4 + t) % (BN / WN) * WN + lane % 8 * 4; };
  float sum[4][4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
      const int m = i / BK, ka = i % BK, kb = i / BN, n = i % BN;
      As[a(m, ka)] = row0 + m < M && k0 + ka < K ? A[(row0 + m) * K + k0 + ka] : 0;
      Bs[kb * BN + n] = k0 + kb < K && col0 + n < N ? B[(k0 + kb) * N + col0 + n] : 0;
    }
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      for (int t = 0; t < 4; ++t) {
        float rA[4], rB[4];
        for (int i = 0; i < 4; ++i) rA[i] = As[a(row(t) + i, k)];
        for (int j = 0; j < 4; ++j) rB[j] = Bs[k * BN + col(t) + j];
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 4; ++j) sum[t][i][j] += rA[i] * rB[j];
      }
    }
    __syncthreads();
  }
  for (int t = 0; t < 4; ++t)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const int y = row0 + row(t) + i, x = col0 + col(t) + j;
        if (y < M && x < N) C[y * N + x] = sum[t][i][j];
      }
}

void launch(int M, int N, int K, const float* A, const float* B, float* C) {
  const dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
  sgemm<false, false><<<grid, THREADS>>>(M, N, K, A, B, C);
}
