#include <cuda_runtime.h>
template <const uint BLOCKSIZE>
__global__ void sgemm_coalesced(int M, int N, int K, float alpha, const float* __restrict__ A,
                                const float* __restrict__ B, float beta, float* __restrict__ C) {
  const int row = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
  const int col = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);
  if (row < M && col < N) {
    float tmp = 0.0f;
#pragma unroll
    for (int i = 0; i < K; ++i) tmp = fmaf(A[row * K + i], __ldg(&B[i * N + col]), tmp);
    C[row * N + col] = alpha * tmp + beta * C[row * N + col];
  }
}
