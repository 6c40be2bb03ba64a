// A vector of a __device__ variable, one element off.
#include <cuda_runtime.h>

__device__ float values[36];

__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  const float4 zeros = *reinterpret_cast<const float4*>(&values[1 + 4 * (threadIdx.x % 8)]);
  C[row * N + col] = sum + zeros.x;
}

void run(const float* A, const float* B, float* C, int M, int N, int K) {
  gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
