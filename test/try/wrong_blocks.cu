// Eight results a thread, in one column, and mistakes that do not show in every launch: an assertion of the wrong
// product, and offsets of A and B by the block's column and row instead of its row and column.
#include <cuda_runtime.h>
#include <cassert>

constexpr int BM = 64, BN = 64, BK = 8, TM = 8;

template <bool wrong_assertion, bool exchanged>
__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int threads = wrong_assertion ? BM * BN : BM * BK;
  assert(blockDim.x == threads);
  __shared__ float As[BM * BK], Bs[BK * BN];
  const int tid = threadIdx.x, row = tid / BN * TM, col = tid % BN;
  A += (exchanged ? blockIdx.x : blockIdx.y) * BM * K;
  B += (exchanged ? blockIdx.y : blockIdx.x) * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    As[tid] = A[tid / BK * K + k0 + tid % BK];
    Bs[tid] = B[(k0 + tid / BN) * N + tid % BN];
    __syncthreads();
    for (int k = 0; k < BK; ++k)
      for (int i = 0; i < TM; ++i) sum[i] += As[(row + i) * BK + k] * Bs[k * BN + col];
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) C[(row + i) * N + col] = alpha * sum[i] + beta * C[(row + i) * N + col];
}

void launch(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  sgemm<false, false><<<dim3(N / BN, M / BM), BM * BN / TM>>>(M, N, K, alpha, A, B, beta, C);
}
