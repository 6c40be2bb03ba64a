// Kernels with a wrong index.
#include <cuda_runtime.h>

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 8;
constexpr int TM = 8;

// The pitch of A's rows is K, not N.
__global__ void naive(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * N + k] * B[k * N + col];
  C[row * N + col] = sum;
}

// Eight results a thread, in one column: B is read in its row instead of its column, A as if it were in the first row.
template <bool mended_b, bool mended_a>
__global__ void thread_tiles(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, tid = threadIdx.x;
  const int row = tid / BN, col = tid % BN;
  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    As[tid] = A[(row0 + tid / BK) * K + k0 + tid % BK];
    Bs[tid] = B[(k0 + tid / BN) * N + col0 + tid % BN];
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      const float b = Bs[k * BN + (mended_b ? col : row)];
      for (int i = 0; i < TM; ++i) sum[i] += As[((mended_a ? row * TM : 0) + i) * BK + k] * b;
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) C[(row0 + row * TM + i) * N + col0 + col] = sum[i];
}

void launch(int M, int N, int K, const float* A, const float* B, float* C) {
  naive<<<dim3(N / 16, M / 16), dim3(16, 16)>>>(M, N, K, A, B, C);
  thread_tiles<false, false><<<dim3(N / BN, M / BM), BM * BN / TM>>>(M, N, K, A, B, C);
  thread_tiles<true, false><<<dim3(N / BN, M / BM), BM * BN / TM>>>(M, N, K, A, B, C);
  thread_tiles<true, true><<<dim3(N / BN, M / BM), BM * BN / TM>>>(M, N, K, A, B, C);
}
