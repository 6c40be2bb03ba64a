// Three ways to write the loop in which a block brings its tiles, each as a for and as a while.
#include <cuda_runtime.h>

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 16;
constexpr int THREADS = 256;

__device__ float from_a(const float* A, int M, int K, int k0, int i) {
  const int row = blockIdx.y * BM + i / BK, k = k0 + i % BK;
  return row < M && k < K ? A[row * K + k] : 0;
}

__device__ float from_b(const float* B, int N, int K, int k0, int i) {
  const int k = k0 + i / BN, col = blockIdx.x * BN + i % BN;
  return k < K && col < N ? B[k * N + col] : 0;
}

__device__ void multiply(const float* As, const float* Bs, float (&sum)[4][4]) {
  const int row = threadIdx.x / 16, col = threadIdx.x % 16;
#pragma unroll
  for (int k = 0; k < BK; ++k)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) sum[i][j] += As[(row + 16 * i) * BK + k] * Bs[k * BN + col + 16 * j];
}

__device__ void store(float* C, int M, int N, const float (&sum)[4][4]) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = blockIdx.y * BM + threadIdx.x / 16 + 16 * i, col = blockIdx.x * BN + threadIdx.x % 16 + 16 * j;
      if (row < M && col < N) C[row * N + col] = sum[i][j];
    }
}

// The stride is known when the kernel runs.
__global__ void __launch_bounds__(THREADS) for_runtime(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += blockDim.x) As[i] = from_a(A, M, K, k0, i);
    for (int i = threadIdx.x; i < BK * BN; i += blockDim.x) Bs[i] = from_b(B, N, K, k0, i);
    __syncthreads();
    multiply(As, Bs, sum);
    __syncthreads();
  }
  store(C, M, N, sum);
}

__global__ void __launch_bounds__(THREADS)
    while_runtime(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    int i = threadIdx.x;
    while (i < BM * BK) {
      As[i] = from_a(A, M, K, k0, i);
      i += blockDim.x;
    }
    i = threadIdx.x;
    while (i < BK * BN) {
      Bs[i] = from_b(B, N, K, k0, i);
      i += blockDim.x;
    }
    __syncthreads();
    multiply(As, Bs, sum);
    __syncthreads();
  }
  store(C, M, N, sum);
}

// The stride is a constant; how often the loop runs depends on the thread, as far as the compiler can see.
__global__ void __launch_bounds__(THREADS) for_fixed(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += THREADS) As[i] = from_a(A, M, K, k0, i);
    for (int i = threadIdx.x; i < BK * BN; i += THREADS) Bs[i] = from_b(B, N, K, k0, i);
    __syncthreads();
    multiply(As, Bs, sum);
    __syncthreads();
  }
  store(C, M, N, sum);
}

__global__ void __launch_bounds__(THREADS) while_fixed(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    int i = threadIdx.x;
    while (i < BM * BK) {
      As[i] = from_a(A, M, K, k0, i);
      i += THREADS;
    }
    i = threadIdx.x;
    while (i < BK * BN) {
      Bs[i] = from_b(B, N, K, k0, i);
      i += THREADS;
    }
    __syncthreads();
    multiply(As, Bs, sum);
    __syncthreads();
  }
  store(C, M, N, sum);
}

// The loop counts from 0 to a constant, the thread's place is added inside.
__global__ void __launch_bounds__(THREADS) for_counted(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int t = 0; t < BM * BK; t += THREADS) As[t + threadIdx.x] = from_a(A, M, K, k0, t + threadIdx.x);
    for (int t = 0; t < BK * BN; t += THREADS) Bs[t + threadIdx.x] = from_b(B, N, K, k0, t + threadIdx.x);
    __syncthreads();
    multiply(As, Bs, sum);
    __syncthreads();
  }
  store(C, M, N, sum);
}

__global__ void __launch_bounds__(THREADS)
    while_counted(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK], Bs[BK * BN];
  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    int t = 0;
    while (t < BM * BK) {
      As[t + threadIdx.x] = from_a(A, M, K, k0, t + threadIdx.x);
      t += THREADS;
    }
    t = 0;
    while (t < BK * BN) {
      Bs[t + threadIdx.x] = from_b(B, N, K, k0, t + threadIdx.x);
      t += THREADS;
    }
    __syncthreads();
    multiply(As, Bs, sum);
    __syncthreads();
  }
  store(C, M, N, sum);
}

void launch(int M, int N, int K, const float* A, const float* B, float* C) {
  const dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
  for_runtime<<<grid, THREADS>>>(M, N, K, A, B, C);
  while_runtime<<<grid, THREADS>>>(M, N, K, A, B, C);
  for_fixed<<<grid, THREADS>>>(M, N, K, A, B, C);
  while_fixed<<<grid, THREADS>>>(M, N, K, A, B, C);
  for_counted<<<grid, THREADS>>>(M, N, K, A, B, C);
  while_counted<<<grid, THREADS>>>(M, N, K, A, B, C);
}
