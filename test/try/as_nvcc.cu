// What nvcc defines and includes, and what ends a kernel.
#ifndef __CUDACC__
#error "this is for nvcc"
#endif

__global__ void guarded(const float* A, const float* B, float* C, int M, int N, int K) {
#if __CUDA_ARCH__ >= 800
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float value = 0;
  for (int k = 0; k < K; ++k) value += A[row * K + k] * B[k * N + col];
  assert(value == value);
  C[row * N + col] = value;
#endif
}

__global__ void trapped(const float* A, const float* B, float* C, int M, int N, int K) {
  if (A[0] * B[0] == C[0] || M * N * K > 0) __trap();
}

#define KERNEL __global__ __launch_bounds__(256) void

KERNEL by_macro(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float value = 0;
  for (int k = 0; k < K; ++k) value += A[row * K + k] * B[k * N + col];
  C[row * N + col] = value;
}
