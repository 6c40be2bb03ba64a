#include <cuda_fp16.h>
__global__ void hgemm(const half* A, const half* B, half* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= M || col >= N) return;
  float x = 0.0f, y = 0.0f;
  for (int k = 0; k < K; ++k) {
    half a = A[row * K + k];
    x += __half2float(a) * __half2float(B[k * N + col]);
    if (col + 1 < N) y += __half2float(__hmul(a, __float2half(1.0f))) * __half2float(B[k * N + col + 1]);
  }
  C[row * N + col] = __float2half(x);
  if (col + 1 < N) C[row * N + col + 1] = __float2half(y);
}
void launch(const half* A, const half* B, half* C, int M, int N, int K) {
  dim3 threads(16, 16);
  dim3 blocks((N + 31) / 32, (M + 15) / 16);
  hgemm<<<blocks, threads>>>(A, B, C, M, N, K);
}
