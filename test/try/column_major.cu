// Column-major as in BLAS, through a macro, with one row of C for each lane of a warp.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#define TS 16
#define AT(matrix, i, j, rows) matrix[(size_t)(j) * (rows) + (i)]

__global__ void gemm_tiled(const float alpha, const float* __restrict__ d_A, const float* __restrict__ d_B,
                           const float beta, float* __restrict__ d_C, const int M, const int N, const int K) {
  __shared__ float tileA[TS][TS + 1], tileB[TS][TS + 1];  // [k][m] and [n][k]
  const int i = blockIdx.x * TS + threadIdx.x, j = blockIdx.y * TS + threadIdx.y;
  float acc = 0.0f;
  for (int k0 = 0; k0 < K; k0 += TS) {
    const int ka = k0 + threadIdx.y, kb = k0 + threadIdx.x;
    tileA[threadIdx.y][threadIdx.x] = (i < M && ka < K) ? AT(d_A, i, ka, M) : 0.0f;
    tileB[threadIdx.y][threadIdx.x] = (j < N && kb < K) ? AT(d_B, kb, j, K) : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TS; ++k) acc += tileA[k][threadIdx.x] * tileB[threadIdx.y][k];
    __syncthreads();
  }
  if (i < M && j < N) AT(d_C, i, j, M) = alpha * acc + beta * AT(d_C, i, j, M);
}

void run(cublasHandle_t handle, float* dA, float* dB, float* dC, int M, int N, int K) {
  dim3 threads(TS, TS);
  dim3 blocks((M + TS - 1) / TS, (N + TS - 1) / TS);
  gemm_tiled<<<blocks, threads>>>(1.0f, dA, dB, 0.0f, dC, M, N, K);
  cudaDeviceSynchronize();
}
