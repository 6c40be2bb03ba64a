// The sum along K is cut among blocks; the last block of each tile adds up what the others have left.
#include <cuda_runtime.h>

#define PARTS 4
#define MOST 65536

__device__ unsigned int arrived[MOST / 256];
__device__ float partial[PARTS][MOST];

__global__ void __launch_bounds__(16 * 16) split(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ volatile int is_last;
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, part = blockIdx.z;
  const int tile = blockIdx.y * gridDim.x + blockIdx.x, first = threadIdx.x == 0 && threadIdx.y == 0;
  const bool inside = row < M && col < N;
  float sum = 0;
  for (int k = part; k < K && inside; k += PARTS) sum += A[row * K + k] * B[k * N + col];
  if (inside) partial[part][row * N + col] = sum;
  __threadfence();
  __syncthreads();
  if (first) is_last = atomicInc(&arrived[tile], PARTS - 1) == PARTS - 1;
  __syncthreads();
  if (!is_last || !inside) return;
  sum = 0;
  for (int i = 0; i < PARTS; ++i) sum += partial[i][row * N + col];
  C[row * N + col] = sum;
}

void run(const float* A, const float* B, float* C, int M, int N, int K) {
  split<<<dim3((N + 15) / 16, (M + 15) / 16, PARTS), dim3(16, 16)>>>(A, B, C, M, N, K);
}
