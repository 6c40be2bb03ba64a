// Loads of halves on lines of their own.
#include <cuda_fp16.h>

__global__ void gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  const int m = blockIdx.y * blockDim.y + threadIdx.y, n = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k)
    sum += __half2float(A[m * K + k]) *  // B's is on the next line
           __half2float(B[k * N + n]);
  C[m * N + n] = sum;
}

void run(const half* A, const half* B, float* C, int M, int N, int K) {
  gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
