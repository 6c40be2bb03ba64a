// Eight results a thread, in one column. The two kernels differ in which of the two inner loops is the outer one.
#include <cuda_runtime.h>

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 8;
constexpr int TM = 8;

__global__ void k_outside(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM][BK], Bs[BK][BN];
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, tid = threadIdx.x;
  const int row = tid / BN * TM, col = tid % BN;
  const int m = tid / BK, ka = tid % BK, kb = tid / BN, n = tid % BN;
  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    As[m][ka] = row0 + m < M && k0 + ka < K ? A[(row0 + m) * K + k0 + ka] : 0;
    Bs[kb][n] = k0 + kb < K && col0 + n < N ? B[(k0 + kb) * N + col0 + n] : 0;
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      const float b = Bs[k][col];
      for (int i = 0; i < TM; ++i) sum[i] += As[row + i][k] * b;
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    if (row0 + row + i < M && col0 + col < N) C[(row0 + row + i) * N + col0 + col] = sum[i];
}

__global__ void k_inside(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM][BK], Bs[BK][BN];
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, tid = threadIdx.x;
  const int row = tid / BN * TM, col = tid % BN;
  const int m = tid / BK, ka = tid % BK, kb = tid / BN, n = tid % BN;
  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    As[m][ka] = row0 + m < M && k0 + ka < K ? A[(row0 + m) * K + k0 + ka] : 0;
    Bs[kb][n] = k0 + kb < K && col0 + n < N ? B[(k0 + kb) * N + col0 + n] : 0;
    __syncthreads();
    for (int i = 0; i < TM; ++i)
      for (int k = 0; k < BK; ++k) sum[i] += As[row + i][k] * Bs[k][col];
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    if (row0 + row + i < M && col0 + col < N) C[(row0 + row + i) * N + col0 + col] = sum[i];
}

void launch(int M, int N, int K, const float* A, const float* B, float* C) {
  const dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
  k_outside<<<grid, BM * BN / TM>>>(M, N, K, A, B, C);
  k_inside<<<grid, BM * BN / TM>>>(M, N, K, A, B, C);
}
