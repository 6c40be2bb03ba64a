// Sums in half, which lose what a float keeps, and sums in float of products that have lost it.
#include <cuda_fp16.h>
__global__ void hgemm_naive(const half* A, const half* B, half* C, int M, int N, int K) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= M || j >= N) return;
  half acc = __float2half(0.0f);
  for (int k = 0; k < K; ++k) acc = __hfma(A[i * K + k], B[k * N + j], acc);
  C[i * N + j] = acc;
}

__global__ void rounded_products(const half* A, const half* B, half* C, int M, int N, int K) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= M || j >= N) return;
  float acc = 0;
  for (int k = 0; k < K; ++k) acc += __half2float(__hmul(A[i * K + k], B[k * N + j]));
  C[i * N + j] = __float2half(acc);
}
